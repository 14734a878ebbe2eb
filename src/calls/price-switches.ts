import type { Catalog } from '../providers/catalog/catalog.ts';

/** The catalog from an instant on. Instants are those of the database's clock, in epoch milliseconds. */
export interface CatalogFrom {
  readonly fromMs: number;
  readonly catalog: Catalog;
}

/** The prices between two changes. */
export interface PriceSide extends CatalogFrom {
  /** An instant at which these prices are in force. */
  readonly atMs: number;
}

/** A price change is near within this time before and after it. The error in a node's estimate of the database's clock is much smaller. */
export const NEAR_MS = 600_000;

/**
 * The known instants at which prices change: later prices of a model, and new revisions of the catalog. Near a change, a call is priced for
 * before and after it. The database's clock decides at admission which one applies (`docs/decisions/0081-catalog-revisions.md`).
 */
export class PriceSwitches {
  readonly #catalogs: readonly CatalogFrom[];
  readonly #instants: readonly number[];
  /** No change of prices is near from `#quietFromMs` until just before `#quietUntilMs`. */
  #quietFromMs = Number.POSITIVE_INFINITY;
  #quietUntilMs = Number.NEGATIVE_INFINITY;

  /** @param catalogs in ascending order of `fromMs`; the first one applies from `-Infinity` */
  constructor(catalogs: readonly CatalogFrom[]) {
    this.#catalogs = catalogs;
    const instants = catalogs.flatMap(({ fromMs, catalog }, index) => {
      const untilMs = catalogs[index + 1]?.fromMs ?? Number.POSITIVE_INFINITY;
      return [fromMs, ...startsOf(catalog)].filter(
        (ms) => ms >= fromMs && ms < untilMs && ms > Number.NEGATIVE_INFINITY,
      );
    });
    this.#instants = [...new Set(instants)].sort((one, other) => one - other);
  }

  isNear(nowMs: number): boolean {
    if (nowMs >= this.#quietFromMs && nowMs < this.#quietUntilMs) return false;
    const last = this.#instants.findLast((ms) => ms <= nowMs) ?? Number.NEGATIVE_INFINITY;
    const next = this.#instants.find((ms) => ms > nowMs) ?? Number.POSITIVE_INFINITY;
    this.#quietFromMs = last + NEAR_MS;
    this.#quietUntilMs = next - NEAR_MS;
    return nowMs < this.#quietFromMs || nowMs >= this.#quietUntilMs;
  }

  /** Returns the prices before and after each change near an instant, in order of time. The first ones apply from `-Infinity`. */
  sidesNear(nowMs: number): readonly PriceSide[] {
    const near = this.#instants.filter((ms) => nowMs >= ms - NEAR_MS && nowMs < ms + NEAR_MS);
    const first = near[0] === undefined ? nowMs : near[0] - 1;
    const side = (fromMs: number, atMs: number): PriceSide => ({ fromMs, atMs, catalog: this.#catalogAt(atMs) });
    return [side(Number.NEGATIVE_INFINITY, first), ...near.map((ms) => side(ms, ms))];
  }

  #catalogAt(ms: number): Catalog {
    return (this.#catalogs.findLast(({ fromMs }) => fromMs <= ms) ?? this.#catalogs[0]!).catalog;
  }
}

function startsOf({ models, groups }: Catalog): number[] {
  const prices = [...models.map(({ price }) => price), ...groups.flatMap((group) => [...group.prices.values()])];
  return prices.flatMap(({ later }) => later.map(({ fromMs }) => fromMs));
}

/** Returns the index of the prices in force at an instant; -1 if none are. */
export function sideAt<Side extends { readonly fromMs: number }>(sides: readonly Side[], nowMs: number): number {
  return sides.findLastIndex(({ fromMs }) => fromMs <= nowMs);
}
