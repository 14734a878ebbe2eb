import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { propertyRuns } from '../../test/support/scope.ts';
import type { Catalog, Model } from '../providers/catalog/catalog.ts';
import { type CatalogFrom, NEAR_MS, PriceSwitches, sideAt } from './price-switches.ts';

/** A catalog with one model, whose price has these starts of later prices. */
function catalogOf(...starts: number[]): Catalog {
  const later = starts.map((fromMs) => ({ fromMs }));
  const model = { id: 'm', price: { later } } as unknown as Model;
  return { models: [model], groups: [] } as unknown as Catalog;
}

const ALWAYS = Number.NEGATIVE_INFINITY;

describe('switches of prices', () => {
  it('are near for ten minutes before and after the start of a later price', () => {
    const switches = new PriceSwitches([{ fromMs: ALWAYS, catalog: catalogOf(10 * NEAR_MS) }]);
    const near = [0, 9 * NEAR_MS - 1, 9 * NEAR_MS, 10 * NEAR_MS, 11 * NEAR_MS - 1, 11 * NEAR_MS, 0];
    assert.deepEqual(
      near.map((ms) => switches.isNear(ms)),
      [false, false, true, true, true, false, false],
    );
  });

  it('are near the start of a later price of a group', () => {
    const ofGroup = catalogOf(10 * NEAR_MS).models[0]!.price;
    const catalog = { ...catalogOf(), groups: [{ prices: new Map([['m', ofGroup]]) }] } as unknown as Catalog;
    const switches = new PriceSwitches([{ fromMs: ALWAYS, catalog }]);
    assert.deepEqual([switches.isNear(8 * NEAR_MS), switches.isNear(10 * NEAR_MS)], [false, true]);
  });

  it('have the catalog of each side, and ignore starts that another revision has replaced', () => {
    const [first, second] = [catalogOf(500, 2_000), catalogOf(600, 3_000)];
    const switches = new PriceSwitches([
      { fromMs: ALWAYS, catalog: first },
      { fromMs: 1_000, catalog: second },
    ]);
    assert.deepEqual(
      switches.sidesNear(1_000).map(({ fromMs, catalog }) => [fromMs, catalog]),
      [
        [ALWAYS, first],
        [500, first],
        [1_000, second],
        [3_000, second],
      ],
    );
  });

  it('offer at every instant the catalog and the price that are in force then', () => {
    const instant = fc.integer({ min: 0, max: 5 * NEAR_MS });
    const starts = fc.array(instant, { maxLength: 3 });
    fc.assert(
      fc.property(
        fc.array(fc.record({ fromMs: instant, starts }), { maxLength: 3 }),
        starts,
        instant,
        (rest, own, nowMs) => {
          const ordered = rest.toSorted((one, other) => one.fromMs - other.fromMs);
          const catalogs: CatalogFrom[] = [
            { fromMs: ALWAYS, catalog: catalogOf(...own) },
            ...ordered.map((each) => ({ fromMs: each.fromMs, catalog: catalogOf(...each.starts) })),
          ];
          const switches = new PriceSwitches(catalogs);
          const sides = switches.sidesNear(nowMs);
          const side = sides[sideAt(sides, nowMs)]!;
          const { catalog } = catalogs.findLast(({ fromMs }) => fromMs <= nowMs)!;
          const started = (ms: number): number[] =>
            catalog.models[0]!.price.later.map(({ fromMs }) => fromMs).filter((fromMs) => fromMs <= ms);
          assert.equal(side.catalog, catalog);
          assert.equal(Math.max(...started(side.atMs)), Math.max(...started(nowMs)));
          if (sides.length > 1) assert.ok(switches.isNear(nowMs));
        },
      ),
      { numRuns: propertyRuns(500) },
    );
  });
});
