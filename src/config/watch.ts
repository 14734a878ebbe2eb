import { basename } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { isRecord } from '../lib/json/json.ts';
import type { Logger } from '../lib/logger.ts';
import { watchOneFile } from './file-watch.ts';
import {
  ConfigError,
  type ConfigOverrides,
  type ConfigText,
  type Environment,
  parseConfig,
  readConfigFile,
} from './load.ts';
import type { ConfigLoads } from './loads.ts';
import { credentialFilesOf } from './provider-credentials.ts';
import { fileVersion } from './regular-file.ts';
import type { Config } from './schema.ts';

export interface ConfigWatcherOptions {
  readonly file: string;
  readonly environment: Environment;
  readonly overrides?: ConfigOverrides;
  /** The configuration in force at the start. */
  readonly current: Config;
  readonly logger: Logger;
  /** What `GET /admin/v1/config` shows of loads. */
  readonly loads?: ConfigLoads;
  /**
   * Puts a configuration into force. Settings that need a restart keep their values from the start, so it describes
   * what the process really does. Where this throws, the previous configuration stays in force.
   */
  readonly apply: (config: Config) => void;
  /** A reload was asked for, and the configuration is the one in force. */
  readonly onUnchanged?: () => void;
  /** The file was read and stands still: whether what it says is in force now. */
  readonly onDecided?: (isInForce: boolean) => void;
  /** How often to look at a file whose changes the system does not report, such as one on a network drive. */
  readonly pollMs?: number;
  /** The time between two looks at a file that may have changed. */
  readonly settleMs?: number;
  /** Calls once, after that time; returns a function that cancels it. */
  readonly setTimer?: (ms: number, expire: () => void) => () => void;
}

const POLL_MS = 5_000;
const SETTLE_MS = 250;

/**
 * The looks in a row that must find the same before a change is applied, and before a change that removes something is.
 */
const LOOKS = 2;
const LOOKS_WHERE_LESS = 20;

/** After this many looks that each found a different text, a log line says what the gateway waits for. */
const RESTLESS_LOOKS = 120;

/** Settings of the server that are fixed when it starts, as are all of the database. */
const FIXED_SERVER_KEYS = [
  'host',
  'port',
  'metrics',
  'protocolNames',
  'messagesContext',
  'bodyLimit',
  'editBodyLimit',
  'headerTimeout',
  'clientStallTimeout',
  'connections',
] as const satisfies readonly (keyof Config['server'])[];

/**
 * Watches a configuration file, and the files of the credentials that it names, and applies them whenever they have changed, whole
 * or not at all: an invalid file is logged and the configuration in force stays.
 *
 * A change is found in three steps. An event, the poll or a signal only says "look". A look reads the file: its text,
 * and when it was last written to. A text that two looks in a row have found is then compared with the last one that
 * was decided on. Saving a file is several writes, with pauses if it comes over a network, and half a file can be a
 * valid configuration with half of the models: a text that removes a model, a provider or a plan has to stand for five
 * seconds.
 */
export class ConfigWatcher {
  readonly #options: ConfigWatcherOptions;
  readonly #unwatchFile: () => void;
  /** What ends the watching of the files of credentials. */
  readonly #credentialFiles = new Map<string, () => void>();
  #inForce: Config;
  /** The result of the last look, and how many looks in a row had it. */
  #seen: Sighting | null = null;
  #looks = 0;
  /** The number of looks in a row that found something else than the one before. */
  #changes = 0;
  #decided: Sighting | null = null;
  /** The parsed result, while the text has to stand longer. */
  #parsed: Config | Error | null = null;
  /** A signal has asked for a reload whose result is not logged yet. */
  #isAsked = false;
  #callOff: (() => void) | null = null;
  #isOpen = true;

  constructor(options: ConfigWatcherOptions) {
    this.#options = options;
    this.#inForce = options.current;
    this.#unwatchFile = this.#watch(options.file);
    this.#watchCredentialFiles();
    // The file may have changed since the current configuration was read from it.
    this.#lookSoon();
  }

  /**
   * Reads the file and applies it, as SIGHUP asks, as soon as it is no longer being written to. Logs the result, even
   * if nothing changed. Several requests at once count as one.
   */
  readonly reload = (): void => {
    if (!this.#isOpen) return;
    this.#isAsked = true;
    this.#lookSoon();
  };

  /** Stops watching; nothing is applied or logged afterwards. */
  close(): void {
    this.#isOpen = false;
    this.#unwatchFile();
    for (const close of this.#credentialFiles.values()) close();
    this.#callOff?.();
    this.#callOff = null;
  }

  #watch(path: string): () => void {
    const { logger, pollMs = POLL_MS } = this.#options;
    const onUnreported = (error: unknown): void =>
      logger.warn(
        { file: path, err: error },
        'changes of the configuration are not reported here; looking every few seconds',
      );
    return watchOneFile({ path, onEvent: this.#lookSoon, onUnreported, pollMs });
  }

  /** Watches the files of the credentials that are in force, and no others. */
  #watchCredentialFiles(): void {
    const files = new Set(credentialFilesOf(this.#inForce.providers));
    for (const [file, close] of this.#credentialFiles) {
      if (files.has(file)) continue;
      close();
      this.#credentialFiles.delete(file);
    }
    for (const file of files) {
      if (!this.#credentialFiles.has(file)) this.#credentialFiles.set(file, this.#watch(file));
    }
  }

  /** Does not delay a look that is due, so a busy directory cannot starve it. */
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

  /** Reads at once: a configuration is small, and so looks cannot overtake one another. */
  #read(): Sighting {
    const { file } = this.#options;
    // The files are read if the configuration is parsed; before that it is enough to know that they stand still.
    const credentialFiles = credentialFilesOf(this.#inForce.providers).map(fileVersion).join(' ');
    try {
      const { text, version, isWhole } = readConfigFile(file);
      // An empty file is a valid configuration without models; but a full disk leaves one, so it is refused.
      const isEmpty = text.trim() === '';
      const found = isEmpty ? new ConfigError(file, [{ line: 0, key: '', message: 'The file is empty.' }]) : text;
      return { found, version, isWhole, credentialFiles };
    } catch (error) {
      if (error instanceof ConfigError) return { found: error, version: '', isWhole: true, credentialFiles };
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
    const { file, logger, loads, apply, onDecided } = this.#options;
    if (given instanceof Error) {
      loads?.failed(given.message);
      const details = given instanceof ConfigError ? { file, problems: given.problems } : { file, err: given };
      logger.error(details, `${given.message}\nThe configuration in force stays.`);
      onDecided?.(false);
      return;
    }

    const settings = changedSettings(this.#inForce, given).filter(needsRestart);
    if (settings.length > 0) {
      logger.warn({ file, settings }, `changed in ${basename(file)}, but needs a restart: ${settings.join(', ')}`);
    }
    const next = withRunningServer(given, this.#inForce);
    const changed = changedSettings(this.#inForce, next);
    if (changed.length === 0) {
      loads?.unchanged(settings);
      const level = isAsked ? 'info' : 'debug';
      logger[level]({ file }, 'the configuration is in force already; nothing to reload');
      if (isAsked) this.#options.onUnchanged?.();
      onDecided?.(true);
      return;
    }
    try {
      apply(next);
    } catch (error) {
      loads?.failed(
        `The configuration could not be applied: ${error instanceof Error ? error.message : String(error)}`,
      );
      logger.error({ file, err: error }, 'the configuration could not be applied; the one in force stays');
      onDecided?.(false);
      return;
    }
    this.#inForce = next;
    loads?.applied(settings);
    this.#watchCredentialFiles();
    logger.info({ file, changed }, 'configuration reloaded');
    onDecided?.(true);
  }
}

/** The result of a look: the text, or why there is none, and whether the files of credentials have changed. */
interface Sighting extends Omit<ConfigText, 'text'> {
  readonly found: string | ConfigError;
  /** The versions of the files of credentials. */
  readonly credentialFiles: string;
}

function isSame(one: Sighting, other: Sighting): boolean {
  if (one.credentialFiles !== other.credentialFiles) return false;
  const [left, right] = [one.found, other.found];
  if (left instanceof ConfigError) return right instanceof ConfigError && left.message === right.message;
  return left === right;
}

/** Whether the configuration lacks something that is in force, as a half-written one does. */
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
  if (section === 'tracing') return true;
  return section === 'database' || (section === 'server' && FIXED_SERVER_KEYS.some((fixed) => fixed === key));
}

/** The configuration, with the running values of settings that need a restart. */
function withRunningServer(given: Config, running: Config): Config {
  const server: Record<string, unknown> = { ...given.server };
  for (const key of FIXED_SERVER_KEYS) {
    if (running.server[key] === undefined) delete server[key];
    else server[key] = running.server[key];
  }
  const { tracing: _, ...others } = given;
  const next = { ...others, server: server as Config['server'], database: running.database };
  return running.tracing === undefined ? next : { ...next, tracing: running.tracing };
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
