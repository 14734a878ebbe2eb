import { type FSWatcher, unwatchFile, watch, watchFile } from 'node:fs';
import { basename, dirname, resolve } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { isRecord } from '../lib/json.ts';
import type { Logger } from '../lib/logger.ts';
import {
  ConfigError,
  type ConfigOverrides,
  type ConfigText,
  type Environment,
  parseConfig,
  readConfigFile,
} from './load.ts';
import type { Config } from './schema.ts';

export interface ConfigWatcherOptions {
  readonly file: string;
  readonly environment: Environment;
  readonly overrides?: ConfigOverrides;
  /** The configuration in force at the start. */
  readonly current: Config;
  readonly logger: Logger;
  /**
   * Takes a configuration into force. What needs a restart is in it as it was at the start, so it describes what is
   * really being done. Where this throws, the configuration before it stays in force.
   */
  readonly apply: (config: Config) => void;
  /** How often to look at a file whose changes the system does not report, such as one on a network drive. */
  readonly pollMs?: number;
  /** The time between two looks at a file that may have changed. */
  readonly settleMs?: number;
  /** Calls once, after that time; answers how to call it off. */
  readonly setTimer?: (ms: number, expire: () => void) => () => void;
}

export interface ConfigWatcher {
  /**
   * Reads the file and applies it, as SIGHUP asks, as soon as it stands still. Says in the log what came of it, even where
   * that is nothing. Several that are asked for at once are one.
   */
  readonly reload: () => void;
  /** Stops watching; nothing is applied or logged afterwards. */
  readonly close: () => void;
}

const POLL_MS = 5_000;
const SETTLE_MS = 250;

/** How many looks in a row must find the same before it is believed, and before it is believed to take something away. */
const LOOKS = 2;
const LOOKS_WHERE_LESS = 20;

/** After so many looks that each found something else, the log says what the gateway is waiting for. */
const RESTLESS_LOOKS = 120;

/** Settings of the server that are built into it when it starts, as is everything about the database. */
const FIXED_SERVER_KEYS = [
  'host',
  'port',
  'protocolNames',
  'messagesContext',
  'bodyLimit',
  'editBodyLimit',
  'headerTimeout',
  'clientStallTimeout',
  'connections',
] as const satisfies readonly (keyof Config['server'])[];

/**
 * Watches a configuration file and applies it whenever it has changed, whole or not at all: an invalid file is logged
 * and the configuration in force stays.
 *
 * A change is found in three steps. An event, the poll or a signal only says "look". A look reads the file: what stands in
 * it, and when it was last written to. What two looks in a row found the same is then compared with what was decided on
 * last. Saving a file is several writes, with pauses where it comes over a network, and half a file can be a valid
 * configuration with half of the models: what takes a model, a provider or a plan away has to stand for five seconds.
 */
export function watchConfig(options: ConfigWatcherOptions): ConfigWatcher {
  const watcher = new Watcher(options);
  return { reload: () => watcher.reload(), close: () => watcher.close() };
}

class Watcher {
  readonly #options: ConfigWatcherOptions;
  readonly #path: string;
  readonly #directoryWatcher: FSWatcher | null;
  #inForce: Config;
  /** What the last look found, and how many in a row found it. */
  #seen: Sighting | null = null;
  #looks = 0;
  /** How many looks in a row found something else than the one before. */
  #changes = 0;
  #decided: Sighting | null = null;
  /** What was made of it, while it has to stand longer. */
  #parsed: Config | Error | null = null;
  /** A signal has asked for the file, and not had its answer yet. */
  #isAsked = false;
  #callOff: (() => void) | null = null;
  #isOpen = true;

  constructor(options: ConfigWatcherOptions) {
    this.#options = options;
    this.#inForce = options.current;
    this.#path = resolve(options.file);
    this.#directoryWatcher = this.#watchDirectory();
    // The directory's events miss what happens behind a symbolic link, to the directory itself, or on another machine.
    watchFile(this.#path, { interval: options.pollMs ?? POLL_MS, persistent: false }, this.#lookSoon);
    // The file may have changed since the current configuration was read from it.
    this.#lookSoon();
  }

  reload(): void {
    if (!this.#isOpen) return;
    this.#isAsked = true;
    this.#lookSoon();
  }

  close(): void {
    this.#isOpen = false;
    this.#directoryWatcher?.close();
    unwatchFile(this.#path, this.#lookSoon);
    this.#callOff?.();
    this.#callOff = null;
  }

  /**
   * The directory is watched and not the file, because an editor puts a new file in the place of the old one. All of
   * its events count: where Kubernetes mounts the file, a change is that of a link called `..data` beside it.
   */
  #watchDirectory(): FSWatcher | null {
    const { file, logger } = this.#options;
    const giveUp = (error: unknown): void =>
      logger.warn(
        { file, err: error },
        'changes of the configuration are not reported here; looking every few seconds',
      );
    try {
      const watcher = watch(dirname(this.#path), { persistent: false }, this.#lookSoon);
      watcher.on('error', giveUp);
      return watcher;
    } catch (error) {
      giveUp(error);
      return null;
    }
  }

  /** Does not put off a look that is due, so a busy directory cannot starve it. */
  readonly #lookSoon = (): void => {
    if (!this.#isOpen) return;
    const { settleMs = SETTLE_MS, setTimer = systemTimer } = this.#options;
    this.#callOff ??= setTimer(settleMs, () => this.#look());
  };

  #look(): void {
    this.#callOff = null;
    const found = this.#read();
    const isSeenAgain = this.#seen !== null && found.version === this.#seen.version && isSame(found, this.#seen);
    this.#looks = isSeenAgain && found.isWhole ? this.#looks + 1 : 1;
    this.#changes = isSeenAgain ? 0 : this.#changes + 1;
    this.#seen = found;
    if (!isSeenAgain) this.#parsed = null;
    const { file, logger } = this.#options;
    if (this.#changes === RESTLESS_LOOKS) {
      logger.warn({ file }, 'the configuration is being written to all the time; it is read when it stands still');
    }
    if (!this.#isAsked && this.#decided !== null && isSame(found, this.#decided)) return;
    const outcome = this.#looks < LOOKS ? null : (this.#parsed ?? this.#parse(found));
    if (outcome === null || (this.#looks < LOOKS_WHERE_LESS && isLess(outcome, this.#inForce))) {
      this.#parsed = outcome;
      this.#lookSoon();
      return;
    }
    this.#parsed = null;
    this.#decided = found;
    const isAsked = this.#isAsked;
    this.#isAsked = false;
    this.#decide(outcome, isAsked);
  }

  /** Reads at once: a configuration is small, and so no look can overtake another. */
  #read(): Sighting {
    const { file } = this.#options;
    try {
      const { text, version, isWhole } = readConfigFile(file);
      // As a configuration it would be valid and take every model away; but it is what a full disk leaves.
      const isEmpty = text.trim() === '';
      const found = isEmpty ? new ConfigError(file, [{ line: 0, key: '', message: 'The file is empty.' }]) : text;
      return { found, version, isWhole };
    } catch (error) {
      if (error instanceof ConfigError) return { found: error, version: '', isWhole: true };
      throw error;
    }
  }

  #parse({ found }: Sighting): Config | Error {
    const { file, environment, overrides } = this.#options;
    if (found instanceof ConfigError) return found;
    try {
      return parseConfig(found, file, environment, overrides);
    } catch (error) {
      return error instanceof Error ? error : new Error(String(error));
    }
  }

  #decide(given: Config | Error, isAsked: boolean): void {
    const { file, logger, apply } = this.#options;
    if (given instanceof Error) {
      const details = given instanceof ConfigError ? { file, problems: given.problems } : { file, err: given };
      logger.error(details, `${given.message}\nThe configuration in force stays.`);
      return;
    }

    const settings = changedSettings(this.#inForce, given).filter(needsRestart);
    if (settings.length > 0) {
      logger.warn({ file, settings }, `changed in ${basename(file)}, but needs a restart: ${settings.join(', ')}`);
    }
    const next = withRunningServer(given, this.#inForce);
    const changed = changedSettings(this.#inForce, next);
    if (changed.length === 0) {
      const level = isAsked ? 'info' : 'debug';
      logger[level]({ file }, 'the configuration is in force already; nothing to reload');
      return;
    }
    try {
      apply(next);
    } catch (error) {
      logger.error({ file, err: error }, 'the configuration could not be applied; the one in force stays');
      return;
    }
    this.#inForce = next;
    logger.info({ file, changed }, 'configuration reloaded');
  }
}

/** What a look found: the text, or why there is none. */
interface Sighting extends Omit<ConfigText, 'text'> {
  readonly found: string | ConfigError;
}

function isSame({ found: left }: Sighting, { found: right }: Sighting): boolean {
  if (left instanceof ConfigError) return right instanceof ConfigError && left.message === right.message;
  return left === right;
}

/** Whether the configuration lacks something that is in force, as one does whose end has not been written yet. */
function isLess(given: Config | Error, inForce: Config): boolean {
  if (given instanceof Error) return false;
  return (['providers', 'models', 'plans'] as const).some((section) =>
    Object.keys(inForce[section]).some((name) => !Object.hasOwn(given[section], name)),
  );
}

function systemTimer(ms: number, expire: () => void): () => void {
  const timer = setTimeout(expire, ms);
  return () => clearTimeout(timer);
}

function needsRestart(setting: string): boolean {
  const [section, key] = setting.split('.');
  return section === 'database' || (section === 'server' && FIXED_SERVER_KEYS.some((fixed) => fixed === key));
}

/** The configuration with what needs a restart as it is in the running server. */
function withRunningServer(given: Config, running: Config): Config {
  const fixed = Object.fromEntries(FIXED_SERVER_KEYS.map((key) => [key, running.server[key]]));
  return { ...given, server: { ...given.server, ...fixed }, database: running.database };
}

/**
 * The dotted names of the settings that differ. Only names: the values may be secrets, and this goes into the log.
 */
export function changedSettings(before: unknown, after: unknown, path: readonly string[] = []): string[] {
  if (isDeepStrictEqual(before, after)) return [];
  if (!isRecord(before) || !isRecord(after)) return [path.join('.')];
  const keys = new Set([...Object.keys(before), ...Object.keys(after)]);
  return [...keys].flatMap((key) => changedSettings(before[key], after[key], [...path, key]));
}
