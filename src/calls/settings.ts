import { compilePlans, type PlanTerms } from '../accounting/plans/plan.ts';
import { createLocalTime, type LocalTime } from '../accounting/pricing/local-time.ts';
import { compileRateDefaults, type RateDefaults } from '../accounting/reservations/rate-defaults.ts';
import type { Config } from '../config/schema.ts';
import { type Catalog, createCatalog } from '../providers/catalog/catalog.ts';
import { createProviders, type Providers } from '../providers/upstream/provider.ts';

/**
 * What calls need of a configuration, compiled once. A call takes the settings in force when it begins and keeps them
 * until it ends, whatever is reloaded meanwhile.
 */
export interface Settings {
  readonly config: Config;
  readonly catalog: Catalog;
  readonly providers: Providers;
  /** The calendar of the billing time zone: the day of the spending cap. */
  readonly localTime: LocalTime;
  /** The plans; the same array as long as these settings are in force. */
  readonly plans: readonly PlanTerms[];
  /** The limits by the minute of accounts that have none of their own; `null`: there are none. */
  readonly rateDefaults: RateDefaults | null;
  /** The largest request that any plan takes: token counts at coding addresses need no subscription. */
  readonly codingInputBytesMax: number;
  /** The requests that use these settings; the connections to providers stay open until the last request has ended. */
  readonly inFlight: InFlight;
}

/** `own`: the same configuration with the limits that this process has of it, if it is one of several. */
export function createSettings(config: Config, previous?: Settings, own: Config = config): Settings {
  const plans = compilePlans(own);
  return {
    config,
    catalog: createCatalog(config),
    providers: createProviders(own.providers, previous?.providers),
    localTime: createLocalTime(config.billing.timezone),
    plans,
    rateDefaults: compileRateDefaults(config),
    codingInputBytesMax: codingInputBytesMax(plans),
    inFlight: new InFlight(),
  };
}

const CODING_INPUT_BYTES_DEFAULT = 4 * 1024 * 1024;

function codingInputBytesMax(plans: readonly PlanTerms[]): number {
  return plans.length === 0 ? CODING_INPUT_BYTES_DEFAULT : Math.max(...plans.map((plan) => plan.inputBytesMax));
}

/** Counts work that is under way, so that a shutdown can wait for its end. */
class InFlight {
  #count = 0;
  #listeners: (() => void)[] = [];

  get count(): number {
    return this.#count;
  }

  /** Work begins; `leave` ends it. */
  enter(): void {
    this.#count++;
  }

  leave(): void {
    this.#count--;
    if (this.#count > 0) return;
    const listeners = this.#listeners;
    this.#listeners = [];
    for (const listener of listeners) listener();
  }

  /** Resolves when no work is under way. */
  idle(): Promise<void> {
    if (this.#count === 0) return Promise.resolve();
    return new Promise((resolve) => this.#listeners.push(resolve));
  }
}
