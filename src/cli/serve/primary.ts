import cluster from 'node:cluster';
import { createGuesses, guessHandlers } from '../../app/guesses.ts';
import { settingsBeyond } from '../../app/worker-limits.ts';
import { loadConfig } from '../../config/load.ts';
import type { Config } from '../../config/schema.ts';
import { announceGateway } from '../../db/data-dir.ts';
import { systemClock } from '../../lib/clock.ts';
import { createIds } from '../../lib/ids.ts';
import type { Logger } from '../../lib/logger.ts';
import { type Handlers, ProcessLink } from '../../lib/process-link.ts';
import { programVersion } from '../../lib/version.ts';
import { AllWorkers } from '../../telemetry/all-workers.ts';
import type { CliProcess, GlobalFlags } from '../command.ts';
import { demoEnvironment, findConfigSource, NO_ADMIN_TOKEN, readAdminToken } from '../environment.ts';
import { createServerLog } from '../log/logger.ts';
import { startOwnServer } from '../own-database.ts';
import { watchDealtConnections } from './dealt-connections.ts';
import { newLocalToken } from './local-token.ts';
import { STOP_SIGNALS, type StopSignal } from './stop-signals.ts';
import { type ForkedWorker, type ProcessEnd, Supervisor } from './supervisor.ts';
import { type WorkersAsked, workersFor } from './worker-count.ts';
import { WORKER_TOKEN_VARIABLE, WORKER_VARIABLE } from './worker-process.ts';

/**
 * Serves with several processes until SIGTERM or SIGINT. This process itself serves no calls: it passes connections to workers round-robin,
 * counts wrong credentials for all workers, and serves their combined health and metrics.
 *
 * @returns the exit code; `null` if one process is enough
 */
export async function servePrimary(
  flags: GlobalFlags,
  { environment, writeOut, isErrorTerminal }: CliProcess,
  asked: WorkersAsked,
  cores: number,
): Promise<number | null> {
  const { file, isDemo, overrides } = findConfigSource(flags, environment);
  const config = loadConfig(file, isDemo ? demoEnvironment(environment) : environment, overrides);
  const count = workersFor(asked, { isDemo, cores });
  if (count === 1) return null;
  const hasToken = readAdminToken(environment) !== null;
  const log = createServerLog(environment, isErrorTerminal === true);
  log.setFormat(config.log.format);
  const { logger } = log;
  const beyond = settingsBeyond(config, count);
  if (beyond.length > 0) {
    logger.warn(
      { settings: beyond, workers: count },
      'some limits are smaller than the number of workers; each worker gets at least 1, so together they exceed these limits',
    );
  }

  const { dataDir } = config.database;
  const isLocal = config.database.url === '';
  const local = isLocal ? await startOwnServer(config.database, logger, (message) => logger.warn({}, message)) : null;
  const localToken = newLocalToken();
  const shared = { [WORKER_TOKEN_VARIABLE]: localToken, ...(local !== null && { DATABASE_URL: local.url }) };
  const guesses = guessHandlers(createGuesses(() => performance.now()));
  const all = new AllWorkers(() => supervisor.workers);
  const supervisor = new Supervisor({
    count,
    logger,
    nowMs: () => performance.now(),
    fork: (number, handlers) => {
      const serving = { scrape: all.scrape, readiness: all.readReadiness, logsAs: log.setFormat };
      const environment = { ...shared, [WORKER_VARIABLE]: `${number}/${count}` };
      return forkWorker(environment, { ...guesses, ...serving, ...handlers });
    },
    onLeft: (number) => all.left(number),
    onUp(workers, url) {
      if (local !== null) announceGateway(dataDir, { url, adminToken: localToken, databaseUrl: local.url });
      logger.info(
        { version: programVersion(), url, database: isLocal ? 'local' : 'postgresql', process: process.pid, workers },
        `the gateway serves with ${count} workers`,
      );
      writeOut(`listening on ${url}\n`);
      if (!hasToken) logger.info({}, NO_ADMIN_TOKEN);
    },
  });
  const onSignal = (signal: StopSignal): void => {
    if (supervisor.stop(signal) === 'passed on') {
      logger.info({ signal }, 'stopping: every worker finishes its requests');
      return;
    }
    for (const each of STOP_SIGNALS) process.removeAllListeners(each);
    process.kill(process.pid, signal);
  };
  const onReload = (): void => supervisor.reload();
  let metrics: Awaited<ReturnType<typeof serveMetricsOfAll>> = null;
  try {
    // Metrics are served before workers start, so that an address in use is reported first.
    metrics = await serveMetricsOfAll(config, all, logger);
    for (const signal of STOP_SIGNALS) process.on(signal, onSignal);
    process.on('SIGHUP', onReload);
    supervisor.start();
    const code = await supervisor.ended;
    logger.info({}, 'the gateway has stopped');
    return code;
  } finally {
    await metrics?.close();
    await local?.stop();
    process.off('SIGHUP', onReload);
    for (const signal of STOP_SIGNALS) process.off(signal, onSignal);
    // If the log cannot be closed, a pending write to a pipe that nobody reads would keep the process alive forever.
    if (!(await log.close())) process.kill(process.pid, 'SIGKILL');
  }
}

async function serveMetricsOfAll(config: Config, all: AllWorkers, logger: Logger) {
  const address = config.server.metrics;
  if (address === undefined) return null;
  const { createMetricsServer } = await import('../../api/metrics-server.ts');
  const { scrape, readReadiness } = all;
  const ids = createIds(systemClock);
  const server = createMetricsServer({ address, scrape, readReadiness, clock: systemClock, ids, logger });
  logger.info({ url: await server.listen() }, 'metrics of all workers are served');
  return server;
}

function forkWorker(environment: Record<string, string>, handlers: Handlers): ForkedWorker {
  // Round-robin gives all workers equally many connections, which their shares of limits require. A worker that hangs gets none.
  cluster.schedulingPolicy = cluster.SCHED_RR;
  // A metric may be infinite, which JSON cannot represent.
  cluster.setupPrimary({ serialization: 'advanced' });
  const worker = cluster.fork(environment);
  const closeDealt = watchDealtConnections(worker.process);
  const link = new ProcessLink(
    {
      send: (message, done) => worker.send(message, undefined, undefined, done),
      on: (event, listener) => worker.on(event, listener),
    },
    handlers,
  );
  // A process that could not be started emits `error` instead of `exit`.
  const ended = new Promise<ProcessEnd>((resolve) => {
    worker.on('exit', (code: number | null, signal: string | null) => {
      closeDealt();
      resolve({ code, signal });
    });
    worker.on('error', () => {
      if (worker.process.pid === undefined) resolve({ code: 1, signal: null });
    });
  });
  return { pid: worker.process.pid ?? 0, link, ended, kill: () => void worker.process.kill('SIGKILL') };
}
