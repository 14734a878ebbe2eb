import type { Config } from '../config/schema.ts';
import { createSettings, type Settings } from './settings.ts';

/** The current settings, and earlier ones until their last request has ended. */
export class SettingsInForce {
  /** Only `change` sets this field. It is a plain field, because a call reads it a dozen times. */
  current: Settings;
  readonly #ofProcess: (config: Config) => Config;
  readonly #inUse: Set<Settings>;
  /** Resolves when no request uses earlier settings. */
  #retired: Promise<void> = Promise.resolve();

  /** @param ofProcess returns the configuration with this process's share of the limits, if several processes share them. */
  constructor(config: Config, ofProcess: (config: Config) => Config = (whole) => whole) {
    this.#ofProcess = ofProcess;
    this.current = createSettings(config, undefined, ofProcess(config));
    this.#inUse = new Set([this.current]);
  }

  /** Applies another configuration to requests that begin from now on. */
  change(config: Config): void {
    const previous = this.current;
    this.current = createSettings(config, previous, this.#ofProcess(config));
    const { providers } = this.current;
    providers.useCredentials();
    this.#inUse.add(this.current);
    // Earlier settings are retired in sequence, because several configurations may share a provider.
    this.#retired = this.#retired
      .then(() => previous.inFlight.idle())
      .then(() => previous.providers.retire(providers))
      .finally(() => this.#inUse.delete(previous));
  }

  /** Retries provider credentials that were refused. */
  retryCredentials(): void {
    this.current.providers.useCredentials();
  }

  get requestsInFlight(): number {
    return [...this.#inUse].reduce((sum, { inFlight }) => sum + inFlight.count, 0);
  }

  /** Closes all connections to providers, which ends every call in flight. */
  cutOff(): void {
    for (const { providers } of this.#inUse) void providers.destroy();
  }

  /** Resolves when no request is in flight. */
  async idle(): Promise<void> {
    await this.#retired;
    await this.current.inFlight.idle();
  }
}
