import { availableParallelism } from 'node:os';
import { sayTo } from '../command.ts';
import type { CommandRows } from '../command-rows.ts';
import { startSimulator } from '../demo/start-simulator.ts';
import { workersAsked } from './worker-count.ts';
import { thisWorker } from './worker-process.ts';

const STARTS = 'Starting the gateway. The first start of a local database takes some seconds.';
const DEMO_STARTS =
  'Starting the demo. The first start creates a database with a month of sample calls, which takes some seconds.';

export const serveCommands: CommandRows = {
  serve: {
    about: 'run the gateway (without a configuration file: a demo)',
    with: {
      '--host <host>': 'where to listen (default: $HOST or the configuration)',
      '--port <port>': 'where to listen; 0 picks a free port (default: $PORT or the configuration)',
      '--workers <number>': 'processes that serve, on PostgreSQL; auto: one per core (default: $FAREGATE_WORKERS or 1)',
    },
    async runs(flags, _output, _given, process) {
      const { environment } = process;
      const worker = thisWorker(environment);
      const asked = worker === null ? workersAsked(flags, environment) : 1;
      if (asked !== 1) {
        const { servePrimary } = await import('./primary.ts');
        const code = await servePrimary(flags, process, asked, availableParallelism());
        if (code !== null) return code;
      }
      const { findConfigSource } = await import('../environment.ts');
      const { isDemo } = findConfigSource(flags, environment);
      if (worker === null && process.isErrorTerminal === true) sayTo(process)(isDemo ? DEMO_STARTS : STARTS);
      // Started before the gateway is loaded, so that both load at the same time.
      const simulator = isDemo ? startSimulator() : null;
      // An error is ignored here: the gateway reports it when it awaits the address.
      const ended = simulator?.then(
        ({ stop }) => stop,
        () => () => undefined,
      );
      try {
        const { serveGateway } = await import('./serve-gateway.ts');
        return await serveGateway(flags, process, simulator, worker);
      } finally {
        (await ended)?.();
      }
    },
  },
};
