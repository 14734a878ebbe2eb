import type { Clock } from '../lib/clock.ts';
import type { Logger } from '../lib/logger.ts';

export interface UnpricedUse {
  readonly model: string;
  /** Key of the missing price, such as `perWebSearch` or `serviceTiers.flex`. */
  readonly price: string;
  readonly calls: number;
  readonly lastAtMs: number;
}

/** Maximum number of counted pairs of model and price. Providers choose the names of tiers, so the number must be limited. */
const PAIRS_MAX = 1_000;

/** Counts uses that have no price. For each pair of model and price, the log reports the 1st, 10th, 100th … use. */
export class UnpricedUses {
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #uses = new Map<string, UnpricedUse>();

  constructor({ clock, logger }: { readonly clock: Clock; readonly logger: Logger }) {
    this.#clock = clock;
    this.#logger = logger;
  }

  note(callId: string, model: string, provider: string, prices: readonly string[]): void {
    for (const price of prices) {
      const pair = JSON.stringify([model, price]);
      const before = this.#uses.get(pair);
      if (before === undefined && this.#uses.size === PAIRS_MAX) continue;
      const calls = (before?.calls ?? 0) + 1;
      this.#uses.set(pair, { model, price, calls, lastAtMs: this.#clock.nowMs() });
      if (Number.isInteger(Math.log10(calls))) {
        this.#logger.warn({ callId, model, provider, price, calls }, 'a provider reported usage that has no price');
      }
    }
  }

  list(): readonly UnpricedUse[] {
    return [...this.#uses.values()].sort(
      (left, right) => compare(left.model, right.model) || compare(left.price, right.price),
    );
  }
}

function compare(left: string, right: string): number {
  return left < right ? -1 : left > right ? 1 : 0;
}
