import { randomFillSync } from 'node:crypto';
import type { History, HistoryRow } from '../../../accounting/history/history-store.ts';
import { createLocalTime } from '../../../accounting/pricing/local-time.ts';
import type { Config } from '../../../config/schema.ts';
import { createIds, type FillRandom } from '../../../lib/ids.ts';
import { createCatalog } from '../../../providers/catalog/catalog.ts';
import type { NewDemo } from '../new-demo.ts';
import {
  openDemo,
  ownAccount,
  planStartMs,
  spentAccount,
  suspendedAccount,
  teamAccount,
  unverifiedAccount,
} from './accounts.ts';
import { type Books, type MonthScene, yuan } from './books.ts';
import { createRandomSource } from './chance.ts';
import { DAY_MS, HOUR_MS, MONTH_DAYS } from './rhythm.ts';
import { changeRows, makeVouchers, membershipRow, operatorRows, planRows, unresolvedRow, userRow } from './rows.ts';

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

/** Only the demo's account with its key, its balance and its operator. */
export function makeBareDemo(demo: NewDemo, passwordHash: string, nowMs: number, config: Config): History {
  const books = openDemo(demo, { ...sceneOf(config, nowMs, randomFillSync), startMs: nowMs });
  books.addKey(nowMs, { id: demo.keyId, name: demo.name }, [], { text: demo.key });
  books.post('top_up', yuan(100), nowMs);
  return { rows: { ...books.rows, ...operatorRows(demo, passwordHash, nowMs) }, outcomes: [] };
}

/** A month of life in a gateway: the demo's account and its operator, and others whom the operator looks after. */
export function makeMonth({
  config,
  demo,
  passwordHash,
  planId,
  nowMs,
  fillRandom = randomFillSync,
}: MonthParts): History {
  const scene = sceneOf(config, nowMs, fillRandom);
  const { startMs } = scene;
  const refusals: HistoryRow[] = [];
  const vouchers = makeVouchers(scene);
  const invited = [
    { name: 'Lin Wei', email: 'lin@northwind.example', role: null, atMs: startMs + HOUR_MS },
    { name: 'Sam Okafor', email: 'sam@northwind.example', role: null, atMs: startMs + 6 * DAY_MS },
    { name: 'Ana Ruiz', email: 'ana@books.example', role: 'auditor', atMs: startMs + 2 * DAY_MS },
  ] as const;
  const people = invited.map((person) => ({ ...person, id: scene.idsAt(person.atMs).next('usr') }));
  const [owner, member] = [people[0]!, people[1]!];

  const own = ownAccount(demo, vouchers, scene);
  const { team, agents } = teamAccount([owner, member], vouchers, scene);
  const others = [spentAccount, suspendedAccount, unverifiedAccount].map((open) => open(refusals, scene));
  const all = [own, team, ...others].map((books) => books.play());
  const operator = operatorRows(demo, passwordHash, startMs);
  const made = all.map(({ rows }) => rows);
  const tables = Object.keys(made[0]!) as (keyof Books['rows'])[];
  return {
    rows: {
      ...Object.fromEntries(tables.map((table) => [table, made.flatMap((rows) => rows[table])])),
      ...vouchers.rows,
      ...planRows(own, planId, planStartMs(scene), config, scene),
      users: [...operator.users, ...people.map((person) => userRow(person))],
      memberships: [
        ...operator.memberships,
        membershipRow(owner.id, team.id, 'owner', owner.atMs),
        membershipRow(member.id, team.id, 'member', member.atMs),
      ],
      changes: all.flatMap((books) => changeRows(demo, books, scene)),
      refusals,
      calls: [12, 3].map((days) => unresolvedRow(team.id, agents, nowMs - days * DAY_MS, scene)),
    },
    outcomes: all.flatMap(({ outcomes }) => outcomes),
  };
}

function sceneOf(config: Config, nowMs: number, fillRandom: FillRandom): MonthScene {
  const randomSource = createRandomSource(SEED);
  // Ids of any instant, from one pool of random bytes.
  let idMs = 0;
  const ids = createIds({ nowMs: () => idMs }, randomSource.fill);
  const idsAt = (atMs: number) => {
    idMs = atMs;
    return ids;
  };
  const localTime = createLocalTime(config.billing.timezone);
  return {
    nowMs,
    startMs: monthStartMs(nowMs),
    localTime,
    fillRandom,
    catalog: createCatalog(config),
    randomSource,
    idsAt,
  };
}
