import type { Clock } from '../lib/clock.ts';
import { type ConfigOverrides, overriddenSettings } from './load.ts';
import { CATALOG_SECTIONS, type Config } from './schema.ts';

export interface ConfigStatus {
  /** Path of the configuration file; `null`: there is none. */
  readonly file: string | null;
  /** Settings that come from flags or the environment. */
  readonly overridden: readonly string[];
  readonly loadedAtMs: number;
  /** Settings that have changed in the file but require a restart. */
  readonly needsRestart: readonly string[];
  /** Error of the last load; `null` if the present content of the file is in force. */
  readonly lastError: { readonly atMs: number; readonly message: string } | null;
}

/** Results of loading the configuration. An error is kept until a load succeeds. */
export class ConfigLoads {
  readonly #clock: Clock;
  #status: ConfigStatus;

  constructor(file: string | null, overrides: ConfigOverrides, clock: Clock) {
    this.#clock = clock;
    this.#status = {
      file,
      overridden: [...overriddenSettings(overrides).keys()],
      loadedAtMs: clock.nowMs(),
      needsRestart: [],
      lastError: null,
    };
  }

  get status(): ConfigStatus {
    return this.#status;
  }

  /** Called when another configuration is in force. */
  applied(needsRestart: readonly string[]): void {
    this.#status = { ...this.#status, loadedAtMs: this.#clock.nowMs(), needsRestart, lastError: null };
  }

  /** Called when the file is in force already, except for settings that require a restart. */
  unchanged(needsRestart: readonly string[]): void {
    this.#status = { ...this.#status, needsRestart, lastError: null };
  }

  failed(message: string): void {
    this.#status = { ...this.#status, lastError: { atMs: this.#clock.nowMs(), message } };
  }
}

/** Settings of `server` that require a restart. So do all settings of `database` and `tracing`. */
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

/** Whether a setting, such as `server.port`, requires a restart. */
export function needsRestart(setting: string): boolean {
  const [section, key] = setting.split('.');
  if (section === 'tracing' || section === 'database' || section === 'catalog') return true;
  return section === 'server' && FIXED_SERVER_KEYS.some((fixed) => fixed === key);
}

/** Returns a configuration in which settings that require a restart have their running values. */
export function withRunningSettings(given: Config, running: Config): Config {
  const server: Record<string, unknown> = { ...given.server };
  for (const key of FIXED_SERVER_KEYS) {
    if (running.server[key] === undefined) delete server[key];
    else server[key] = running.server[key];
  }
  const { tracing: _, ...others } = given;
  // If the catalog moves to or from the database, it stays as it is until the restart.
  const isMoved = given.catalog !== running.catalog;
  const catalog = isMoved ? Object.fromEntries(CATALOG_SECTIONS.map((name) => [name, running[name]])) : {};
  const next = {
    ...others,
    ...(catalog as Pick<Config, (typeof CATALOG_SECTIONS)[number]>),
    catalog: running.catalog,
    server: server as Config['server'],
    database: running.database,
  };
  return running.tracing === undefined ? next : { ...next, tracing: running.tracing };
}
