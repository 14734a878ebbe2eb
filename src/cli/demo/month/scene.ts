import { randomFillSync } from 'node:crypto';
import type { HistoryRow, HistoryTable } from '../../../accounting/history/history-store.ts';
import { createLocalTime } from '../../../accounting/pricing/local-time.ts';
import type { Config } from '../../../config/schema.ts';
import { Dice } from '../../../lib/dice.ts';
import { createIds, type FillRandom } from '../../../lib/ids.ts';
import { NANO_PER_YUAN } from '../../../lib/yuan.ts';
import { createCatalog } from '../../../providers/catalog/catalog.ts';
import type { NewDemo } from '../new-demo.ts';

export interface DemoDependencies {
  readonly config: Config;
  readonly demo: NewDemo;
  readonly passwordHash: string;
  readonly planId: string;
  readonly nowMs: number;
  /** Random bytes for secrets and ids, which do not depend on the seed. */
  readonly fillRandom?: FillRandom;
}

export const HOUR_MS = 3_600_000;
export const DAY_MS = 24 * HOUR_MS;
/** Seed of the month, the same for all demos. */
const SEED = 20_261_123;

export const nanoOf = (yuan: number): bigint => BigInt(yuan) * NANO_PER_YUAN;

export type Scene = ReturnType<typeof createScene>;

/** Creates what all accounts of the month have in common, including their rows. */
export function createScene({ fillRandom = randomFillSync, ...parts }: DemoDependencies, startMs: number) {
  const rows: { [Table in HistoryTable]?: HistoryRow[] } = {};
  let idMs = startMs;
  const ids = createIds({ nowMs: () => idMs }, fillRandom);
  return {
    ...parts,
    fillRandom,
    rows,
    catalog: createCatalog(parts.config),
    dice: new Dice(SEED),
    localTime: createLocalTime(parts.config.billing.timezone),
    atDay: (day: number): number => startMs + day * DAY_MS,
    add(table: HistoryTable, row: HistoryRow): void {
      rows[table] ??= [];
      rows[table].push(row);
    },
    /** Returns a new id that contains a time. */
    idAt(prefix: string, atMs: number): string {
      idMs = atMs;
      return ids.next(prefix);
    },
  };
}
