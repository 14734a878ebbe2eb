import { availableParallelism } from 'node:os';
import type { Command } from 'commander';
import type { CommandKit } from '../command.ts';
import { startSimulator } from '../demo/start-simulator.ts';
import { workersAsked } from './worker-count.ts';
import { thisWorker } from './worker-process.ts';

/** `faregate serve` */
export function serveCommand(program: Command, kit: CommandKit): void {
  program
    .command('serve')
    .description('run the gateway (without a configuration file: a demo)')
    .option('--host <host>', 'where to listen (default: $HOST or the configuration)')
    .option('--port <port>', 'where to listen; 0 picks a free port (default: $PORT or the configuration)')
    .option(
      '--workers <number>',
      'processes that serve, on PostgreSQL; auto: one a core (default: $FAREGATE_WORKERS or 1)',
    )
    .action(
      kit.plain(async (flags) => {
        const worker = thisWorker(kit.process.environment);
        const asked = worker === null ? workersAsked(flags, kit.process.environment) : 1;
        if (asked !== 1) {
          const { servePrimary } = await import('./primary.ts');
          const code = await servePrimary(flags, kit.process, asked, availableParallelism());
          if (code !== null) return code;
        }
        // Other commands need not wait until a whole gateway is loaded; nor does the provider of the demo, which is loading meanwhile.
        const { findConfigSource } = await import('../environment.ts');
        const simulator = findConfigSource(flags, kit.process.environment).isDemo ? startSimulator() : null;
        // The gateway hears of a failure when it asks for its address.
        const ended = simulator?.then(
          ({ stop }) => stop,
          () => () => undefined,
        );
        try {
          const { serveGateway } = await import('./serve-gateway.ts');
          return await serveGateway(flags, kit.process, simulator, worker);
        } finally {
          (await ended)?.();
        }
      }),
    );
}
