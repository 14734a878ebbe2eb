import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from '../../lib/logger.ts';
import type { Binaries } from './binaries.ts';
import { stopLeftovers } from './leftovers.ts';
import { LocalServerError, USE_A_SERVER } from './local-server-error.ts';
import type { Place } from './place.ts';
import type { ServerLog } from './server-log.ts';
import { settingArguments } from './settings.ts';

const DELAY_MS = 100;
const DELAY_MAX_MS = 30_000;
/** After the server has run for this long, delays of restarts begin with the shortest one again. */
const STEADY_MS = 60_000;

const READY = 'database system is ready to accept connections';

/** How long a fast shutdown may take, because its checkpoint may be slow. Then the server is stopped immediately. */
const IMMEDIATE_MS = 60_000;
const KILL_MS = 70_000;

interface ServerProcessOptions {
  readonly place: Place;
  readonly binaries: Binaries;
  readonly socketDir: string;
  readonly settings: Readonly<Record<string, string>> | undefined;
  readonly log: ServerLog;
  readonly logger: Logger;
}

/** Servers that an exit handler stops. If this process is killed instead, the next start stops them. */
const running = new Set<ChildProcess>();

function stopAll(): void {
  for (const child of running) child.kill('SIGINT');
}

/** The server's process. If it dies, it is restarted after a delay that doubles each time. */
export class ServerProcess {
  readonly #options: ServerProcessOptions;
  readonly #stopping = new AbortController();
  #child: ChildProcess | null = null;
  #restarting: Promise<void> | null = null;
  #delayMs = DELAY_MS;

  constructor(options: ServerProcessOptions) {
    this.#options = options;
  }

  /** Starts the server. Resolves when it accepts connections. @param stopped aborts the wait and stops the server */
  async start(stopped?: AbortSignal): Promise<void> {
    const { place, binaries, socketDir, settings, log, logger } = this.#options;
    await stopLeftovers(place.cluster, socketDir, logger);
    stopped?.throwIfAborted();
    const startedAtMs = performance.now();
    const child = spawn(
      binaries.postgres,
      ['-D', place.cluster, ...settingArguments(binaries.major, socketDir, settings)],
      {
        ...place.user,
        cwd: '/',
        // The server does not get this process's environment, which may contain provider credentials.
        env: binaries.environment,
        // The server has a session of its own, so that Ctrl-C reaches only the gateway, which stops the server last.
        detached: true,
        stdio: ['ignore', 'ignore', 'pipe'],
      },
    );
    const ended = once(child, 'close');
    const isReady = new Promise<true>((resolve) => {
      log.read(child.stderr, (line) => {
        if (line.endsWith(READY)) resolve(true);
      });
    });
    const stop = (): void => void child.kill('SIGINT');
    stopped?.addEventListener('abort', stop);
    try {
      running.add(child);
      if (running.size === 1) process.on('exit', stopAll);
      child.once('exit', () => {
        running.delete(child);
        if (running.size === 0) process.off('exit', stopAll);
      });
      const isRunning = await Promise.race([isReady, ended.then(() => false)]);
      stopped?.throwIfAborted();
      if (!isRunning) throw new Error(log.lastLines());
    } catch (error) {
      running.delete(child);
      if (stopped?.aborted) {
        await ended.catch(() => undefined);
        throw error;
      }
      throw new LocalServerError(
        `PostgreSQL failed to start in ${place.cluster}:\n${(error as Error).message}\n`,
        `Fix the cause, or ${USE_A_SERVER}.`,
        error,
      );
    } finally {
      stopped?.removeEventListener('abort', stop);
    }
    this.#child = child;
    child.once('exit', (code, signal) => this.#onExit(code, signal, startedAtMs));
    if (child.exitCode !== null || child.signalCode !== null)
      this.#onExit(child.exitCode, child.signalCode, startedAtMs);
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#restarting;
    const child = this.#child;
    if (child === null) return;
    const ended = once(child, 'exit');
    const timers = [
      setTimeout(() => child.kill('SIGQUIT'), IMMEDIATE_MS),
      setTimeout(() => child.kill('SIGKILL'), KILL_MS),
    ];
    child.kill('SIGINT');
    await ended;
    for (const timer of timers) clearTimeout(timer);
  }

  #onExit(code: number | null, signal: NodeJS.Signals | null, startedAtMs: number): void {
    if (this.#child === null) return;
    this.#child = null;
    if (this.#stopping.signal.aborted) return;
    const { log, logger } = this.#options;
    logger.error({ code, signal, log: log.lastLines() }, 'the database server stopped unexpectedly; restarting');
    if (performance.now() - startedAtMs > STEADY_MS) this.#delayMs = DELAY_MS;
    this.#restarting ??= this.#restart().finally(() => {
      this.#restarting = null;
    });
  }

  async #restart(): Promise<void> {
    const { signal } = this.#stopping;
    const { logger } = this.#options;
    while (!signal.aborted) {
      const delayMs = this.#delayMs;
      this.#delayMs = Math.min(delayMs * 2, DELAY_MAX_MS);
      try {
        await sleep(delayMs, undefined, { signal });
        await this.start(signal);
        logger.info({}, 'the database server was restarted');
        return;
      } catch (err) {
        if (!signal.aborted) logger.error({ err }, 'the database server failed to start; retrying');
      }
    }
  }
}
