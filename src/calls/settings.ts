import { type Recording, recordingOrNull } from '../accounting/accounts/recording.ts';
import { compilePlans, type PlanTerms } from '../accounting/plans/plan.ts';
import { createLocalTime, type LocalTime } from '../accounting/pricing/local-time.ts';
import { compileRateDefaults, type RateDefaults } from '../accounting/reservations/rate-defaults.ts';
import type { Config } from '../config/schema.ts';
import { type Catalog, createCatalog } from '../providers/catalog/catalog.ts';
import { createProviderLimits, type ProviderLimits } from '../providers/limits/provider-limits.ts';
import { createProviders, type Providers } from '../providers/upstream/provider.ts';
import { PriceSwitches } from './price-switches.ts';

/** Everything that a configuration determines. A call keeps the settings that were in force at its start. */
export interface Settings {
  readonly config: Config;
  readonly catalog: Catalog;
  readonly providers: Providers;
  /** Limits of providers, routes and credentials; `null`: there are none. */
  readonly limits: ProviderLimits | null;
  /** The billing time zone, which determines the days of spending caps. */
  readonly localTime: LocalTime;
  readonly plans: readonly PlanTerms[];
  /** Rate limits of accounts without limits of their own. */
  readonly rateDefaults: RateDefaults | null;
  /** The largest input that any plan accepts. It also limits token counts at coding addresses, which need no subscription. */
  readonly codingInputBytesMax: number;
  /** What is recorded of callers of all accounts; `null`: nothing. */
  readonly recording: Recording | null;
  /** Instants at which prices change. Replaced when a revision of the catalog is scheduled. */
  switches: PriceSwitches;
  /** Requests that use these settings. Connections to providers stay open until the last one has ended. */
  readonly inFlight: InFlight;
}

/** @param own the configuration with this process's share of the limits */
export function createSettings(config: Config, previous?: Settings, own: Config = config): Settings {
  const plans = compilePlans(own);
  const catalog = createCatalog(config);
  return {
    config,
    catalog,
    switches: new PriceSwitches([{ fromMs: Number.NEGATIVE_INFINITY, catalog }]),
    providers: createProviders(own.providers, previous?.providers),
    limits: createProviderLimits(config, previous?.limits ?? null),
    localTime: createLocalTime(config.billing.timezone),
    plans,
    rateDefaults: compileRateDefaults(config),
    codingInputBytesMax: codingInputBytesMax(plans),
    recording: recordingOrNull(config.recording),
    inFlight: new InFlight(),
  };
}

const CODING_INPUT_BYTES_DEFAULT = 4 * 1024 * 1024;

function codingInputBytesMax(plans: readonly PlanTerms[]): number {
  return plans.length === 0 ? CODING_INPUT_BYTES_DEFAULT : Math.max(...plans.map((plan) => plan.inputBytesMax));
}

class InFlight {
  #count = 0;
  #listeners: (() => void)[] = [];

  get count(): number {
    return this.#count;
  }

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

  idle(): Promise<void> {
    if (this.#count === 0) return Promise.resolve();
    return new Promise((resolve) => this.#listeners.push(resolve));
  }
}
