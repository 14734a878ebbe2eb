import type { Clock } from '../lib/clock.ts';
import { type ConfigOverrides, overriddenSettings } from './load.ts';

/** Where the configuration in force comes from, and what became of later attempts to load another one. */
export interface ConfigStatus {
  /** `null` if it comes from no file. */
  readonly file: string | null;
  /** Settings that flags or the environment have set, over those of the file. */
  readonly overridden: readonly string[];
  readonly loadedAtMs: number;
  /** Settings that the file has changed, and that wait for a restart. */
  readonly needsRestart: readonly string[];
  /** Why the file as it is now is not in force; `null` if it is. */
  readonly lastError: { readonly atMs: number; readonly message: string } | null;
}

/** Remembers when the configuration was loaded, and the last error until a reload succeeds. */
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

  /** Another configuration is in force now. */
  applied(needsRestart: readonly string[]): void {
    this.#status = { ...this.#status, loadedAtMs: this.#clock.nowMs(), needsRestart, lastError: null };
  }

  /** The file says what is in force already, but for what needs a restart. */
  unchanged(needsRestart: readonly string[]): void {
    this.#status = { ...this.#status, needsRestart, lastError: null };
  }

  failed(message: string): void {
    this.#status = { ...this.#status, lastError: { atMs: this.#clock.nowMs(), message } };
  }
}
