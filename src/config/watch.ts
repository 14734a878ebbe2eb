import { type FSWatcher, unwatchFile, watch, watchFile } from 'node:fs';
import { basename, dirname, resolve } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { isRecord } from '../lib/json/json.ts';
import type { Logger } from '../lib/logger.ts';
import { type CatalogText, ConfigError, type ConfigText, type ParsedConfig, readConfigFile } from './load.ts';
import { type ConfigLoads, needsRestart, withRunningSettings } from './loads.ts';
import type { NodeConfig } from './node-config.ts';
import { credentialFilesOf } from './provider-credentials.ts';
import { fileVersion } from './regular-file.ts';
import type { Config } from './schema.ts';

export interface ConfigWatcherOptions {
  readonly node: NodeConfig;
  /** Configuration in force at the start. */
  readonly current: Config;
  readonly logger: Logger;
  /** Status of loading, which `GET /admin/v1/config` shows. */
  readonly loads?: ConfigLoads;
  /**
   * Puts a configuration in force. Settings that require a restart keep their values from the start, so that the configuration describes
   * what the process really does. `fromMs` is the instant of the database's clock from which a catalog of the database is in force. If this
   * throws, the previous configuration stays in force.
   */
  readonly apply: (config: Config, fromMs: number | null) => void;
  /** Called after `reload` if the configuration was already in force. */
  readonly onUnchanged?: () => void;
  /** Called after each stable reading of the file. */
  readonly onDecided?: (isInForce: boolean) => void;
  /** Called with the reason when a configuration is refused. */
  readonly onRefused?: (message: string) => void;
  /** Interval of polling for changes that the system does not report, such as on a network drive. */
  readonly pollMs?: number;
  /** Time between two readings of a file that may have changed. */
  readonly settleMs?: number;
  /** Calls `expire` once after `ms` milliseconds. Returns a function that cancels this. */
  readonly setTimer?: (ms: number, expire: () => void) => () => void;
}

const POLL_MS = 5_000;
const SETTLE_MS = 250;

/** After this many equal readings in a row, a change is applied. */
const READINGS = 2;
/** After this many equal readings in a row, a change is applied that removes a model, a provider or a plan. */
const READINGS_FOR_REMOVAL = 20;

/** If this many readings in a row all differ, the log says that the reload is postponed. */
const READINGS_UNTIL_POSTPONED = 120;

/**
 * Watches a configuration file and its credential and certificate files, and applies changes as a whole. If the file is invalid, the error
 * is logged and the previous configuration stays. A text is parsed after two equal readings, because saving a file takes several writes.
 * Half a file can be a valid configuration with half of the models. So a text that removes a model, a provider or a plan must stay
 * unchanged for five seconds.
 */
export class ConfigWatcher {
  readonly #options: ConfigWatcherOptions;
  /** Functions that stop watching, by file. */
  readonly #watched = new Map<string, () => void>();
  /** Credential and certificate files of the configuration in force. */
  #files: readonly string[];
  #inForce: Config;
  #last: Reading | null = null;
  /** Number of readings in a row that equal the last one. */
  #equalReadings = 0;
  /** Number of readings in a row that differ from the one before. */
  #changes = 0;
  #decided: Reading | null = null;
  /** The parsed text, as long as it must stay unchanged before it is applied; `null`: there is none. */
  #parsed: ParsedConfig | Error | null = null;
  /** Whether the result of `reload` must still be logged. */
  #isRequested = false;
  /** Resolves when the result of the reading for `reload` is known. */
  #result = Promise.withResolvers<void>();
  #cancelTimer: (() => void) | null = null;
  #isOpen = true;

  constructor(options: ConfigWatcherOptions) {
    this.#options = options;
    this.#inForce = options.current;
    this.#files = credentialFilesOf(options.current.providers);
    this.#watchFiles();
  }

  /** Applies the file once it stops changing, and logs the result even if nothing has changed. Calls before the result count as one. */
  readonly reload = (): void => {
    if (!this.#isOpen) return;
    this.#isRequested = true;
    this.#readSoon();
  };

  /** Reloads like `reload`. Resolves when the result is known, or when the watcher is closed. */
  async reloadNow(): Promise<void> {
    this.reload();
    if (this.#isOpen) await this.#result.promise;
  }

  /**
   * Uses another catalog of the database, which is in force from an instant of the database's clock on.
   *
   * @throws ConfigError if the configuration is not valid with this catalog, or another error if it could not be applied
   */
  useCatalog(catalog: CatalogText, fromMs: number): void {
    const { node } = this.#options;
    const parsed = node.parse({ catalog });
    node.catalog = catalog;
    if (!this.#decide(parsed, { isRequested: false, fromMs }))
      throw new Error('the configuration could not be applied');
  }

  /** Stops watching. Nothing is applied or logged after this. */
  close(): void {
    this.#isOpen = false;
    for (const unwatch of this.#watched.values()) unwatch();
    this.#cancelTimer?.();
    this.#cancelTimer = null;
    this.#result.resolve();
  }

  #watchFiles(): void {
    const { node, logger, pollMs = POLL_MS } = this.#options;
    const files = new Set([node.file, ...this.#files]);
    for (const [file, unwatch] of this.#watched) {
      if (files.has(file)) continue;
      unwatch();
      this.#watched.delete(file);
    }
    for (const file of files) {
      if (this.#watched.has(file)) continue;
      const onUnreported = (error: unknown): void =>
        logger.warn(
          { file, err: error },
          'the system does not report changes of this file; polling it every few seconds',
        );
      this.#watched.set(file, watchOneFile(file, this.#readSoon, onUnreported, pollMs));
      // Reads once more: the file may have changed since it was read.
      this.#readSoon();
    }
  }

  /** Schedules a reading. A pending one is not delayed, so that a directory with many changes cannot prevent it. */
  readonly #readSoon = (): void => {
    if (!this.#isOpen) return;
    const { settleMs = SETTLE_MS, setTimer = systemTimer } = this.#options;
    this.#cancelTimer ??= setTimer(settleMs, () => this.#check());
  };

  #check(): void {
    this.#cancelTimer = null;
    const reading = this.#read();
    const isEqual = this.#last !== null && reading.version === this.#last.version && isSame(reading, this.#last);
    this.#equalReadings = isEqual && reading.isWhole ? this.#equalReadings + 1 : 1;
    this.#changes = isEqual ? 0 : this.#changes + 1;
    this.#last = reading;
    if (!isEqual) this.#parsed = null;
    const { logger, node } = this.#options;
    const { file } = node;
    if (this.#changes === READINGS_UNTIL_POSTPONED) {
      logger.warn({ file }, 'the configuration keeps changing; reload postponed');
    }
    if (!this.#isRequested && this.#decided !== null && isSame(reading, this.#decided)) return;
    const outcome = this.#equalReadings < READINGS ? null : (this.#parsed ?? this.#parse(reading));
    if (
      outcome === null ||
      (this.#equalReadings < READINGS_FOR_REMOVAL &&
        !(outcome instanceof Error) &&
        removes(withRunningSettings(outcome.config, this.#inForce), this.#inForce))
    ) {
      this.#parsed = outcome;
      this.#readSoon();
      return;
    }
    this.#parsed = null;
    const isRequested = this.#isRequested;
    this.#isRequested = false;
    const isFollowed = !(outcome instanceof Error) && outcome.config.catalog === this.#inForce.catalog;
    if (isFollowed && !(reading.found instanceof ConfigError)) node.text = reading.found;
    const isInForce = outcome instanceof Error ? this.#refuse(outcome) : this.#decide(outcome, { isRequested });
    this.#decided = { ...reading, fileVersions: this.#fileVersions() };
    this.#options.onDecided?.(isInForce);
    if (!isRequested) return;
    this.#result.resolve();
    this.#result = Promise.withResolvers();
  }

  /** Reads the file synchronously: it is small, and so readings cannot overtake each other. */
  #read(): Reading {
    const { file } = this.#options.node;
    const fileVersions = this.#fileVersions();
    try {
      const { text, version, isWhole } = readConfigFile(file);
      // A full disk can leave an empty file, which would be a valid configuration without models.
      const isEmpty = text.trim() === '';
      const found = isEmpty ? new ConfigError(file, [{ line: 0, key: '', message: 'The file is empty.' }]) : text;
      return { found, version, isWhole, fileVersions };
    } catch (error) {
      if (error instanceof ConfigError) return { found: error, version: '', isWhole: true, fileVersions };
      throw error;
    }
  }

  #fileVersions(): string {
    return this.#files.map((path) => `${path} ${fileVersion(path)}`).join('\n');
  }

  #parse({ found }: Reading): ParsedConfig | Error {
    if (found instanceof ConfigError) return found;
    try {
      return this.#options.node.parse({ text: found });
    } catch (error) {
      return error instanceof Error ? error : new Error(String(error));
    }
  }

  #refuse(error: Error): false {
    const { node, logger, loads, onRefused } = this.#options;
    const { file } = node;
    loads?.failed(error.message);
    onRefused?.(error.message);
    const details = error instanceof ConfigError ? { file, problems: error.problems } : { file, err: error };
    logger.error(details, `${error.message}\nThe previous configuration stays in force.`);
    // Watches the files that an invalid configuration names, because a missing credential file may appear.
    if (error instanceof ConfigError) {
      this.#files = [...new Set([...this.#files, ...error.files])];
      this.#watchFiles();
    }
    return false;
  }

  /** Decides whether a configuration is applied. Returns whether it is in force now. */
  #decide({ config, files }: ParsedConfig, { isRequested, fromMs = null }: Decision): boolean {
    const { node, logger, loads, apply, onUnchanged, onRefused } = this.#options;
    const { file } = node;
    const settings = changedSettings(this.#inForce, config).filter(needsRestart);
    if (settings.length > 0) {
      logger.warn({ file, settings }, `changed in ${basename(file)}, but requires a restart: ${settings.join(', ')}`);
    }
    const next = withRunningSettings(config, this.#inForce);
    const changed = changedSettings(this.#inForce, next);
    if (changed.length === 0) {
      loads?.unchanged(settings);
      logger[isRequested ? 'info' : 'debug']({ file }, 'the configuration is already in force; nothing to reload');
      if (isRequested) onUnchanged?.();
    } else {
      try {
        apply(next, fromMs);
      } catch (error) {
        const message = `The configuration could not be applied: ${error instanceof Error ? error.message : String(error)}`;
        loads?.failed(message);
        onRefused?.(message);
        logger.error({ file, err: error }, 'the configuration could not be applied; the previous one stays in force');
        return false;
      }
      this.#inForce = next;
      loads?.applied(settings);
      logger.info({ file, changed }, 'configuration reloaded');
    }
    this.#files = files;
    this.#watchFiles();
    return true;
  }
}

/**
 * Watches a file and returns a function that stops this. It watches the directory, because editors replace the file, and Kubernetes moves a
 * link `..data` next to it.
 */
function watchOneFile(
  path: string,
  onEvent: () => void,
  onUnreported: (error: unknown) => void,
  pollMs: number,
): () => void {
  const whole = resolve(path);
  const directory = watchDirectory(dirname(whole), onEvent, onUnreported);
  const poll = (): void => onEvent();
  // The file is also polled: events of a directory miss changes behind a symbolic link, of the directory, and on other machines.
  watchFile(whole, { interval: pollMs, persistent: false }, poll);
  return () => {
    directory?.close();
    unwatchFile(whole, poll);
  };
}

function watchDirectory(
  directory: string,
  onEvent: () => void,
  onUnreported: (error: unknown) => void,
): FSWatcher | null {
  try {
    const watcher = watch(directory, { persistent: false }, onEvent);
    watcher.on('error', onUnreported);
    return watcher;
  } catch (error) {
    onUnreported(error);
    return null;
  }
}

interface Decision {
  /** Whether `reload` was called. */
  readonly isRequested: boolean;
  readonly fromMs?: number | null;
}

/** A reading: the text of the file, or the error. */
interface Reading extends Omit<ConfigText, 'text'> {
  readonly found: string | ConfigError;
  /** Versions of the credential and certificate files. */
  readonly fileVersions: string;
}

function isSame(one: Reading, other: Reading): boolean {
  if (one.fileVersions !== other.fileVersions) return false;
  const [left, right] = [one.found, other.found];
  if (left instanceof ConfigError) return right instanceof ConfigError && left.message === right.message;
  return left === right;
}

/** Whether a configuration lacks names that are in force, as half a file does. */
function removes(config: Config, inForce: Config): boolean {
  return (['providers', 'models', 'plans', 'groups'] as const).some((section) =>
    Object.keys(inForce[section]).some((name) => !Object.hasOwn(config[section], name)),
  );
}

function systemTimer(ms: number, expire: () => void): () => void {
  const timer = setTimeout(expire, ms);
  return () => clearTimeout(timer);
}

/** Returns the names of the settings that differ. They are logged, so they do not include values, which may be secret. */
export function changedSettings(before: unknown, after: unknown, path: readonly string[] = []): string[] {
  if (isDeepStrictEqual(before, after)) return [];
  if (!isRecord(before) || !isRecord(after)) return [path.join('.')];
  const keys = new Set([...Object.keys(before), ...Object.keys(after)]);
  return [...keys].flatMap((key) => changedSettings(before[key], after[key], [...path, key]));
}
