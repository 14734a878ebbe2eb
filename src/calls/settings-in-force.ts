import type { Config } from '../config/schema.ts';
import { createSettings, type Settings } from './settings.ts';

/** Keeps earlier settings until their last request has ended. */
export class SettingsInForce {
  /** Only `change` sets this. It is a plain field, because a call reads it a dozen times. */
  current: Settings;
  readonly #ofProcess: (config: Config) => Config;
  readonly #inUse: Set<Settings>;
  /** Resolves when no request uses earlier settings. */
  #retired: Promise<void> = Promise.resolve();

  /** `ofProcess` reduces limits to this process's share, if several processes share them. */
  constructor(config: Config, ofProcess: (config: Config) => Config = (whole) => whole) {
    this.#ofProcess = ofProcess;
    this.current = createSettings(config, undefined, ofProcess(config));
    this.#inUse = new Set([this.current]);
  }

  change(config: Config): void {
    const previous = this.current;
    this.current = createSettings(config, previous, this.#ofProcess(config));
    const { providers } = this.current;
    providers.useCredentials();
    this.#inUse.add(this.current);
    // Several configurations may share a provider, so they are retired in sequence.
    this.#retired = this.#retired
      .then(() => previous.inFlight.idle())
      .then(() => previous.providers.retire(providers))
      .finally(() => this.#inUse.delete(previous));
  }

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
