import { writeHistory } from '../../accounting/history/history-store.ts';
import { localAdminClient } from '../../api/management/admin-client.ts';
import type { Gateway } from '../../app/gateway.ts';
import type { Environment } from '../../config/load.ts';
import { ConfigLoads } from '../../config/loads.ts';
import { NodeConfig } from '../../config/node-config.ts';
import { NodeSecrets } from '../../config/sealed-secrets/node-secrets.ts';
import { createSealedSecretsStore } from '../../config/sealed-secrets/sealed-secrets-store.ts';
import { readSealingKeys } from '../../config/sealed-secrets/sealing-keys.ts';
import { announceGateway } from '../../db/data-dir.ts';
import type { Databases } from '../../db/databases.ts';
import { systemClock } from '../../lib/clock.ts';
import { WHOLE } from '../../lib/part.ts';
import { programVersion } from '../../lib/version.ts';
import { isAdminToken } from '../../people/admin-token.ts';
import { createUserStore } from '../../people/user-store.ts';
import { CliError, type CliProcess, type GlobalFlags } from '../command.ts';
import { renderDemoBanner } from '../demo/banner.ts';
import { type DemoAccount, ensureDemoAccount, readDemoAccountId } from '../demo/demo-account.ts';
import type { Simulator } from '../demo/start-simulator.ts';
import { demoEnvironment, findConfigSource, hasDemoMonth, NO_ADMIN_TOKEN, readAdminToken } from '../environment.ts';
import { describeFailure } from '../failure.ts';
import { createServerLog } from '../log/logger.ts';
import { openOrCreateOwnDatabases } from '../own-database.ts';
import { newLocalToken } from './local-token.ts';
import { renderSignInHint } from './sign-in-hint.ts';
import { StoppedError, type StopSignal, StopSignals } from './stop-signals.ts';
import type { WorkerProcess } from './worker-process.ts';

/**
 * Starts the gateway and serves until SIGTERM or SIGINT. A signal during the start cancels it. After SIGTERM, the gateway serves for
 * another `server.drainDelay` while `/readyz` fails, so that load balancers send calls elsewhere.
 *
 * @param simulator the provider of the demo; `null` if the gateway is not the demo
 * @returns the exit code
 */
export async function serveGateway(
  flags: GlobalFlags,
  { environment, writeOut, isErrorTerminal, signals: given = process }: CliProcess,
  simulator: Promise<Simulator> | null,
  worker: WorkerProcess | null = null,
): Promise<number> {
  const source = findConfigSource(flags, environment);
  const operatorToken = readAdminToken(environment);
  // A named token in this variable would give full access, whatever its role, and even after its end.
  if (operatorToken !== null && isAdminToken(operatorToken)) {
    throw new CliError(
      'FAREGATE_ADMIN_TOKEN is a named token of a database. For the gateway itself, choose a secret of your own: ' +
        '"openssl rand -hex 24" creates a good one.',
    );
  }
  // Read at once, so that an invalid key is noticed before a secret is set.
  const sealingKeys = () => readSealingKeys(environment);
  sealingKeys();
  const hasMonth = source.isDemo && hasDemoMonth(environment);
  const log = createServerLog(environment, isErrorTerminal === true, worker?.number);
  const { logger } = log;
  // The banner of the demo is the first text on the terminal.
  if (source.isDemo) log.hold();
  const signalSource = worker?.signals ?? given;
  const signals = new StopSignals(signalSource);
  const cleanUp: (() => void | Promise<void>)[] = [];
  let hasServed = false;
  let stopSignal: StopSignal | null = null;

  try {
    let configEnvironment: Environment = environment;
    if (simulator !== null) configEnvironment = demoEnvironment(environment, (await simulator).url);
    const node = new NodeConfig(source.file, configEnvironment, source.overrides);
    let { config } = node.parse();
    log.setFormat(config.log.format);
    const configLoads = new ConfigLoads(source.file, source.overrides, systemClock);
    const isLocal = config.database.url === '';
    const open = async (): Promise<Databases> => {
      const { statementConnections } = await import('../../app/worker-limits.ts');
      return openOrCreateOwnDatabases(config.database, logger, (message) => logger.warn({}, message), {
        stopped: signals.begun,
        statementConnections: statementConnections(worker?.part ?? WHOLE),
        partitions: config.database.partitions,
      });
    };
    // The local database server starts while most of the program is loaded.
    const [databases, { createGateway }] = await Promise.all([open(), import('../../app/gateway.ts')]);
    const database = databases.directory;

    // Token that the demo prints.
    const localToken = worker?.localToken ?? newLocalToken();
    const adminTokens = operatorToken === null ? [localToken] : [localToken, operatorToken];
    const store = createSealedSecretsStore(database.pool('admin'));
    const secrets = new NodeSecrets({ node, store, keys: sealingKeys });
    let gateway: Gateway;
    try {
      await secrets.read();
      config = node.parse().config;
      gateway = await createGateway({
        config,
        databases,
        logger,
        adminTokens,
        localToken,
        configLoads,
        node,
        sealingKeys,
        servedAs: { isDemo: source.isDemo, demoAccountId: readDemoAccountId(config.database.dataDir) },
        stopped: signals.begun,
        isOnlyNode: isLocal,
        worker: worker?.options,
      });
    } catch (error) {
      await databases.close();
      throw error;
    }
    cleanUp.push(() => gateway.close());
    worker?.isWired(gateway.own);
    signals.begun.throwIfAborted();

    const watcher = await gateway.followConfig(config, {
      loads: configLoads,
      secrets,
      onReload: () => worker?.reloads(),
      onApplied({ log: { format } }) {
        log.setFormat(format);
        worker?.logsAs(format);
      },
    });
    cleanUp.push(() => watcher.close());
    config = node.parse().config;
    signalSource.on('SIGHUP', watcher.reload);
    cleanUp.push(() => void signalSource.off('SIGHUP', watcher.reload));

    const users = createUserStore(database.pool('admin'));
    let demoAccount: DemoAccount | null = null;
    if (source.isDemo) {
      await gateway.app.ready();
      demoAccount = await ensureDemoAccount({
        dataDir: config.database.dataDir,
        users,
        writeHistory: (history) => writeHistory(database, history),
        admin: localAdminClient(gateway.app, localToken),
        config,
        hasMonth,
        clock: systemClock,
      });
    }
    const url = await gateway.listen();
    const databaseUrl = databases.localUrl;
    if (databaseUrl !== null) announceGateway(config.database.dataDir, { url, adminToken: localToken, databaseUrl });
    // Only the first worker prints the hint.
    const printsHint = demoAccount === null && (worker === null || worker.number === 1) && !(await users.hasOperator());
    const hint = printsHint ? renderSignInHint(url, source) : '';
    hasServed = true;
    if (worker === null) {
      logger.info(
        { version: programVersion(), url, database: isLocal ? 'local' : 'postgresql', process: process.pid },
        'the gateway serves',
      );
      writeOut(`listening on ${url}\n${hint}`);
    } else {
      const { nodeId } = gateway;
      logger.info({ nodeId, url, process: process.pid }, 'a worker serves');
      worker.serves({ url, nodeId });
      if (hint !== '') writeOut(hint);
    }
    if (demoAccount !== null) writeOut(renderDemoBanner(url, demoAccount, localToken));
    else if (operatorToken === null && worker === null) logger.info({}, NO_ADMIN_TOKEN);
    log.release();
    const signal = await signals.first;
    stopSignal = signal;
    const { drainDelayMs } = gateway.announceClose();
    if (signal === 'SIGINT') {
      logger.info({ signal }, 'stopping: requests in flight are finished');
    } else {
      logger.info({ signal, drainDelayMs }, 'stopping: no longer ready; calls are served until the drain delay ends');
      await signals.delay(drainDelayMs);
    }
    return 0;
  } catch (error) {
    if (error instanceof StoppedError) {
      logger.info({}, 'the gateway was stopped before it was ready');
      return 0;
    }
    if (worker === null || hasServed) throw error;
    // The primary prints this message once, even if several workers fail for the same reason.
    worker.cannotStart(describeFailure(error));
    return 1;
  } finally {
    worker?.closes();
    signals.letGo();
    for (const close of cleanUp.reverse()) await close();
    if (hasServed) logger.info({}, worker === null ? 'the gateway has stopped' : 'a worker has stopped');
    // A pending write to a pipe that nobody reads would keep the process alive forever. Everything else is closed.
    if (!(await log.close())) process.kill(process.pid, stopSignal ?? 'SIGKILL');
    worker?.leave();
  }
}
