import { createSettings, type Settings } from '../calls/settings.ts';
import type { Config } from '../config/schema.ts';
import { type Part, WHOLE } from '../lib/part.ts';
import { configOfWorker } from './worker-limits.ts';

/** The settings in force, and those of earlier configurations that requests still use. */
export class SettingsInForce {
  readonly #part: Part;
  /** Set by `change` alone. A field, because a call reads it a dozen times. */
  current: Settings;
  readonly #inUse: Set<Settings>;
  /** Resolves when no request uses settings of an earlier configuration. */
  #retired: Promise<void> = Promise.resolve();

  /** `part`: what this process has of the limits of providers and of the queues of plans. */
  constructor(config: Config, part: Part = WHOLE) {
    this.#part = part;
    this.current = createSettings(config, undefined, configOfWorker(config, part));
    this.#inUse = new Set([this.current]);
  }

  /** Applies another configuration to requests that begin from now on. */
  change(config: Config): void {
    const previous = this.current;
    this.current = createSettings(config, previous, configOfWorker(config, this.#part));
    const { providers } = this.current;
    providers.useCredentials();
    this.#inUse.add(this.current);
    // One after the other, because several configurations may share a provider.
    this.#retired = this.#retired
      .then(() => previous.inFlight.idle())
      .then(() => previous.providers.retire(providers))
      .finally(() => this.#inUse.delete(previous));
  }

  /** Tries the credentials of providers again that were refused. */
  retryCredentials(): void {
    this.current.providers.useCredentials();
  }

  /** How many requests are under way. */
  get requestsInFlight(): number {
    return [...this.#inUse].reduce((sum, { inFlight }) => sum + inFlight.count, 0);
  }

  /** Closes all connections to providers, which ends all exchanges. */
  cutOff(): void {
    for (const { providers } of this.#inUse) void providers.destroy();
  }

  /** Resolves when no request is under way. */
  async idle(): Promise<void> {
    await this.#retired;
    await this.current.inFlight.idle();
  }
}
