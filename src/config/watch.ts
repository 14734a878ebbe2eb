import { type FSWatcher, unwatchFile, watch, watchFile } from 'node:fs';
import { basename, dirname, resolve } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { isRecord } from '../lib/json.ts';
import type { Logger } from '../lib/logger.ts';
import { ConfigError, type ConfigOverrides, type Environment, parseConfig, readConfigText } from './load.ts';
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
  /**
   * How long a text must have stood in the file before it is believed. Saving a file is several events, and in the
   * middle of them the file may be empty or half written, which can be a valid configuration with half of the models.
   */
  readonly settleMs?: number;
}

export interface ConfigWatcher {
  /** Reads the file now and applies it, as SIGHUP asks. Says in the log what came of it, even where that is nothing. */
  readonly reload: () => void;
  /** Stops watching; nothing is applied or logged afterwards. */
  readonly close: () => void;
}

const POLL_MS = 5_000;
const SETTLE_MS = 100;

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
 * A change is found in three steps. An event, or the poll, only says "look". A look reads the file. The text counts when
 * two looks in a row found the same one, and is then compared with the one that was decided on last.
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
  /** The text that the last look found, and the one that was decided on last; a text that cannot be read is an error. */
  #seen: string | ConfigError | null = null;
  #decided: string | ConfigError | null = null;
  #timer: NodeJS.Timeout | null = null;
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
    this.#seen = this.#read();
    this.#decide(this.#seen, true);
  }

  close(): void {
    this.#isOpen = false;
    this.#directoryWatcher?.close();
    unwatchFile(this.#path, this.#lookSoon);
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
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
    if (this.#isOpen) this.#timer ??= setTimeout(() => this.#look(), this.#options.settleMs ?? SETTLE_MS);
  };

  #look(): void {
    this.#timer = null;
    const found = this.#read();
    const isSettled = isSame(found, this.#seen);
    this.#seen = found;
    if (isSame(found, this.#decided)) return;
    if (isSettled) this.#decide(found, false);
    else this.#lookSoon();
  }

  /** Reads at once: a configuration is small, and so no look can overtake another. */
  #read(): string | ConfigError {
    const { file } = this.#options;
    try {
      const text = readConfigText(file);
      if (text.trim() !== '') return text;
      // As a configuration it would be valid and take every model away; but it is what a full disk leaves.
      return new ConfigError(file, [{ line: 0, key: '', message: 'The file is empty.' }]);
    } catch (error) {
      if (error instanceof ConfigError) return error;
      throw error;
    }
  }

  #decide(found: string | ConfigError, isAsked: boolean): void {
    const { file, environment, overrides, logger, apply } = this.#options;
    this.#decided = found;
    let given: Config;
    try {
      if (found instanceof ConfigError) throw found;
      given = parseConfig(found, file, environment, overrides);
    } catch (error) {
      const details = error instanceof ConfigError ? { file, problems: error.problems } : { file, err: error };
      const reason = error instanceof Error ? error.message : String(error);
      logger.error(details, `${reason}\nThe configuration in force stays.`);
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

function isSame(left: string | ConfigError, right: string | ConfigError | null): boolean {
  if (left instanceof ConfigError) return right instanceof ConfigError && left.message === right.message;
  return left === right;
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
