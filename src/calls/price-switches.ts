import type { Catalog } from '../providers/catalog/catalog.ts';

/** The catalog from an instant on. Instants are those of the database's clock, in epoch milliseconds. */
export interface CatalogFrom {
  readonly fromMs: number;
  readonly catalog: Catalog;
}

/** The prices between two switches. */
export interface PriceSide extends CatalogFrom {
  /** An instant at which these prices are in force. */
  readonly atMs: number;
}

/** A node's estimate of the database's clock is much better than this. */
export const NEAR_MS = 600_000;

/**
 * The known instants at which prices change: starts of later prices, and revisions of the catalog. Only the database's clock decides on which side
 * of a switch a call is admitted (`docs/decisions/0081-catalog-revisions.md`), so a call near a switch is priced for both sides.
 */
export class PriceSwitches {
  readonly #catalogs: readonly CatalogFrom[];
  readonly #instants: readonly number[];
  /** No switch is near from `#quietFromMs` until before `#quietUntilMs`. */
  #quietFromMs = Number.POSITIVE_INFINITY;
  #quietUntilMs = Number.NEGATIVE_INFINITY;

  /** @param catalogs in the order of their instants; the first one has no beginning (`-Infinity`) */
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

  /** The sides of the switches near an instant, in order. The first one has no beginning. */
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

/** The side of an instant: the last one that has begun. */
export function sideAt<Side extends { readonly fromMs: number }>(sides: readonly Side[], nowMs: number): number {
  return sides.findLastIndex(({ fromMs }) => fromMs <= nowMs);
}
