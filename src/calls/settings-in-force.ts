import type { ScheduledConfig } from '../config/revisions/follower.ts';
import type { Config } from '../config/schema.ts';
import { createCatalog } from '../providers/catalog/catalog.ts';
import { type CatalogFrom, NEAR_MS, PriceSwitches } from './price-switches.ts';
import { createSettings, type Settings } from './settings.ts';

/** Holds the current settings, and earlier ones until their last request has ended. */
export class SettingsInForce {
  /** Changed only by `change`. It is a plain field for speed, because a call reads it about a dozen times. */
  current: Settings;
  readonly #ofProcess: (config: Config) => Config;
  readonly #inUse: Set<Settings>;
  /** The catalogs of recent revisions in order of time; the last one is in force. */
  #catalogs: readonly CatalogFrom[];
  /** The catalogs that are scheduled, in order of time. */
  #scheduled: readonly CatalogFrom[] = [];
  /** Resolves when no request uses earlier settings. */
  #retired: Promise<void> = Promise.resolve();

  /** @param ofProcess reduces limits to this process's share if several processes share them */
  constructor(config: Config, ofProcess: (config: Config) => Config = (whole) => whole) {
    this.#ofProcess = ofProcess;
    this.current = createSettings(config, undefined, ofProcess(config));
    this.current.providers.useCredentials();
    this.#inUse = new Set([this.current]);
    this.#catalogs = [{ fromMs: Number.NEGATIVE_INFINITY, catalog: this.current.catalog }];
  }

  /**
   * Applies another configuration to requests that begin from now on.
   *
   * @param fromMs the instant of the database's clock from which it is in force; `null`: from now on
   */
  change(config: Config, fromMs: number | null = null): void {
    const previous = this.current;
    this.current = createSettings(config, previous, this.#ofProcess(config));
    if (fromMs === null) {
      this.#catalogs = [{ fromMs: Number.NEGATIVE_INFINITY, catalog: this.current.catalog }];
    } else {
      // A catalog is kept while the end of its time in force is near.
      const [first, ...others] = this.#catalogs.filter(
        (_, index, { [index + 1]: next }) => next === undefined || next.fromMs > fromMs - 2 * NEAR_MS,
      );
      this.#catalogs = [
        { fromMs: Number.NEGATIVE_INFINITY, catalog: first!.catalog },
        ...others,
        { fromMs, catalog: this.current.catalog },
      ];
    }
    this.#setSwitches();
    const { providers } = this.current;
    providers.useCredentials();
    this.#inUse.add(this.current);
    // Settings are retired one after another, because several configurations may share a provider.
    this.#retired = this.#retired
      .then(() => previous.inFlight.idle())
      .then(() => previous.providers.retire(providers))
      .finally(() => this.#inUse.delete(previous));
  }

  /** Announces the configurations that follow at instants of the database's clock, in order of time. */
  schedule(scheduled: readonly ScheduledConfig[]): void {
    this.#scheduled = scheduled.map(({ config, fromMs }) => ({ fromMs, catalog: createCatalog(config) }));
    this.#setSwitches();
  }

  #setSwitches(): void {
    const lastMs = this.#catalogs.at(-1)!.fromMs;
    const later = this.#scheduled.filter(({ fromMs }) => fromMs > lastMs);
    this.current.switches = new PriceSwitches([...this.#catalogs, ...later]);
  }

  /** Retries provider credentials that were refused. */
  retryCredentials(): void {
    this.current.providers.useCredentials();
  }

  get requestsInFlight(): number {
    return [...this.#inUse].reduce((sum, { inFlight }) => sum + inFlight.count, 0);
  }

  /** Ends every call in flight. */
  cutOff(): void {
    for (const { providers } of this.#inUse) void providers.destroy();
  }

  async idle(): Promise<void> {
    await this.#retired;
    await this.current.inFlight.idle();
  }
}
