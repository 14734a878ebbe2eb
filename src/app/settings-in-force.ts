import { createSettings, type Settings } from '../calls/settings.ts';
import type { Config } from '../config/schema.ts';

/** The settings in force, and those of earlier configurations that requests still work with. */
export class SettingsInForce {
  #current: Settings;
  readonly #inUse: Set<Settings>;
  /** Resolves when no request works with settings of an earlier configuration any more. */
  #retired: Promise<void> = Promise.resolve();

  constructor(config: Config) {
    this.#current = createSettings(config);
    this.#inUse = new Set([this.#current]);
  }

  get current(): Settings {
    return this.#current;
  }

  /** Requests that begin from now on get the settings of another configuration. */
  change(config: Config): void {
    const previous = this.#current;
    this.#current = createSettings(config, previous);
    const { providers } = this.#current;
    this.#inUse.add(this.#current);
    // One after the other: a provider may live through several reloads.
    this.#retired = this.#retired
      .then(() => previous.inFlight.idle())
      .then(() => previous.providers.retire(providers))
      .finally(() => this.#inUse.delete(previous));
  }

  /** Requests under way. */
  get requestsInFlight(): number {
    return [...this.#inUse].reduce((sum, { inFlight }) => sum + inFlight.count, 0);
  }

  /** Cuts off every exchange with a provider. */
  cutOff(): void {
    for (const { providers } of this.#inUse) void providers.destroy();
  }

  /** Resolves when no request is under way any more. */
  async idle(): Promise<void> {
    await this.#retired;
    await this.#current.inFlight.idle();
  }
}
