import { randomFillSync } from 'node:crypto';
import type { History, HistoryRow } from '../../../accounting/history/history-store.ts';
import { createLocalTime } from '../../../accounting/pricing/local-time.ts';
import type { Config } from '../../../config/schema.ts';
import { createIds, type FillRandom } from '../../../lib/ids.ts';
import { createCatalog } from '../../../providers/catalog/catalog.ts';
import type { NewDemo } from '../new-demo.ts';
import { AccountBooks } from './account-books.ts';
import { type MonthScene, yuan } from './accounts.ts';
import { createRandomSource, type RandomSource } from './chance.ts';
import { makeDemoBooks } from './demo-books.ts';
import {
  makeSpentAccount,
  makeSuspendedAccount,
  makeTeam,
  makeUnverifiedAccount,
  type OtherBooks,
} from './other-books.ts';
import { changeRows, makePeople, operatorRows } from './people.ts';
import { DAY_MS, MONTH_DAYS } from './rhythm.ts';
import { Vouchers } from './vouchers.ts';

interface MonthParts {
  readonly config: Config;
  readonly demo: NewDemo;
  /** Of the demo's password. */
  readonly passwordHash: string;
  readonly planId: string;
  readonly nowMs: number;
  readonly fillRandom?: FillRandom;
}

/** Any number would do; all demos have the same month. */
const SEED = 20_261_123;

/** When the demo's account was made, for a month that ends now. */
export const monthStartMs = (nowMs: number): number => nowMs - MONTH_DAYS * DAY_MS;

/** A month of life in a gateway: the demo's account and its operator, and others whom the operator looks after. */
export function makeMonth({
  config,
  demo,
  passwordHash,
  planId,
  nowMs,
  fillRandom = randomFillSync,
}: MonthParts): History {
  const randomSource = createRandomSource(SEED);
  const scene: MonthScene = {
    nowMs,
    startMs: monthStartMs(nowMs),
    localTime: createLocalTime(config.billing.timezone),
    fillRandom,
    catalog: createCatalog(config),
    randomSource,
    idsAt: createIdsAt(randomSource),
  };
  const vouchers = new Vouchers(scene);
  const own = makeDemoBooks(demo, { config, planId, vouchers }, scene);
  const people = makePeople(scene);
  const team = makeTeam(scene, people, vouchers);
  const others: readonly OtherBooks[] = [
    team,
    makeSpentAccount(scene),
    makeSuspendedAccount(scene),
    makeUnverifiedAccount(scene),
  ];
  const all = [own.books, ...others.map(({ books }) => books)];
  const operator = operatorRows(demo, passwordHash, scene.startMs);
  const invited = people.rows(team.books.account.id);
  return {
    rows: {
      ...rowsOf(all),
      ...vouchers.rows,
      users: [...operator.users, ...invited.users],
      memberships: [...operator.memberships, ...invited.memberships],
      changes: changeRows(demo, all, scene),
      subscriptions: [own.subscriptionRow],
      plan_slots: own.slotRows,
      refusals: others.flatMap(({ refusalRows }) => refusalRows),
      calls: others.flatMap(({ unresolvedRows }) => unresolvedRows),
    },
    outcomes: all.flatMap(({ outcomes }) => outcomes),
  };
}

/** Ids of any instant, from one pool of random bytes. */
function createIdsAt({ fill }: RandomSource): MonthScene['idsAt'] {
  let nowMs = 0;
  const ids = createIds({ nowMs: () => nowMs }, fill);
  return (atMs) => {
    nowMs = atMs;
    return ids;
  };
}

/** Only the demo's account with its key, its balance and its operator. */
export function makeBareDemo(demo: NewDemo, passwordHash: string, nowMs: number, config: Config): History {
  const localTime = createLocalTime(config.billing.timezone);
  const { accountId: id, name } = demo;
  const books = new AccountBooks({ id, name, email: null, isVerified: true, createdAtMs: nowMs }, localTime, nowMs);
  books.addKey({ id: demo.keyId, name, text: demo.key, createdAtMs: nowMs });
  books.post({ kind: 'top_up', amountNano: yuan(100), atMs: nowMs, memo: null });
  return { rows: { ...rowsOf([books]), ...operatorRows(demo, passwordHash, nowMs) }, outcomes: [] };
}

function rowsOf(all: readonly AccountBooks[]): Record<string, readonly HistoryRow[]> {
  return {
    accounts: all.map(({ accountRow }) => accountRow),
    balances: all.map(({ balanceRow }) => balanceRow),
    api_keys: all.flatMap(({ keyRows }) => keyRows),
    key_limits: all.flatMap(({ keyLimitRows }) => keyLimitRows),
    key_uses: all.flatMap(({ keyUseRows }) => keyUseRows),
    ledger_entries: all.flatMap(({ entries }) => entries),
  };
}
