import type { Clock } from '../lib/clock.ts';
import { type ConfigOverrides, overriddenSettings } from './load.ts';
import { CATALOG_SECTIONS, type Config } from './schema.ts';

/** The source of the configuration in force, and the outcome of later loads. */
export interface ConfigStatus {
  /** `null` if the configuration comes from no file. */
  readonly file: string | null;
  /** Settings from flags or the environment, which override the file. */
  readonly overridden: readonly string[];
  readonly loadedAtMs: number;
  /** Settings that changed in the file and require a restart. */
  readonly needsRestart: readonly string[];
  /** Why the current content of the file is not in force; `null` if it is. */
  readonly lastError: { readonly atMs: number; readonly message: string } | null;
}

/** Records when the configuration was loaded, and the last error until a load succeeds. */
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

  /** Records that another configuration is in force. */
  applied(needsRestart: readonly string[]): void {
    this.#status = { ...this.#status, loadedAtMs: this.#clock.nowMs(), needsRestart, lastError: null };
  }

  /** Records that the file is in force, except for settings that require a restart. */
  unchanged(needsRestart: readonly string[]): void {
    this.#status = { ...this.#status, needsRestart, lastError: null };
  }

  failed(message: string): void {
    this.#status = { ...this.#status, lastError: { atMs: this.#clock.nowMs(), message } };
  }
}

/** Settings of the server that require a restart. So do all settings of `database` and `tracing`. */
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

/** Whether a change of a setting, such as `server.port`, requires a restart. */
export function needsRestart(setting: string): boolean {
  const [section, key] = setting.split('.');
  if (section === 'tracing' || section === 'database' || section === 'catalog') return true;
  return section === 'server' && FIXED_SERVER_KEYS.some((fixed) => fixed === key);
}

/** Returns the given configuration, but with the running values of settings that require a restart. */
export function withRunningSettings(given: Config, running: Config): Config {
  const server: Record<string, unknown> = { ...given.server };
  for (const key of FIXED_SERVER_KEYS) {
    if (running.server[key] === undefined) delete server[key];
    else server[key] = running.server[key];
  }
  const { tracing: _, ...others } = given;
  // Until the restart that moves it, the catalog stays as it is.
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
