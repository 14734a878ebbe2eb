import type { HistoryRow } from '../../../accounting/history/history-store.ts';
import { CHANGE_PREFIX } from '../../../changes/change-log.ts';
import { formatYuan } from '../../../lib/yuan.ts';
import type { NewDemo } from '../new-demo.ts';
import { type AccountBooks, toInstant } from './account-books.ts';
import type { MonthScene } from './accounts.ts';
import { DAY_MS, HOUR_MS } from './rhythm.ts';

type PeopleRows = Record<'users' | 'memberships', readonly HistoryRow[]>;

/** The person who has started the demo: operator, and owner of the demo's account. */
export function operatorRows({ userId, name, accountId }: NewDemo, passwordHash: string, atMs: number): PeopleRows {
  return {
    users: [userRow({ id: userId, name, email: null, passwordHash, operatorRole: 'operator', atMs })],
    memberships: [{ user_id: userId, account_id: accountId, role: 'owner', created_at: toInstant(atMs) }],
  };
}

interface MadeUser {
  readonly id: string;
  readonly name: string;
  readonly email: string | null;
  readonly passwordHash: string | null;
  readonly operatorRole: 'operator' | 'auditor' | null;
  readonly atMs: number;
}

function userRow({ id, name, email, passwordHash, operatorRole, atMs }: MadeUser): HistoryRow {
  return {
    id,
    email,
    name,
    sign_in_name: email ?? name,
    password_hash: passwordHash,
    operator_role: operatorRole,
    status: 'active',
    created_at: toInstant(atMs),
  };
}

export interface TeamPeople {
  readonly ownerId: string;
  readonly memberId: string;
  rows(teamId: string): PeopleRows;
}

/** Others who have been invited, and have not signed in yet: they have no password. */
export function makePeople({ startMs, idsAt }: MonthScene): TeamPeople {
  const people = [
    { name: 'Lin Wei', email: 'lin@northwind.example', operatorRole: null, atMs: startMs + HOUR_MS },
    { name: 'Sam Okafor', email: 'sam@northwind.example', operatorRole: null, atMs: startMs + 6 * DAY_MS },
    { name: 'Ana Ruiz', email: 'ana@books.example', operatorRole: 'auditor', atMs: startMs + 2 * DAY_MS },
  ] as const;
  const users = people.map((person) => ({ ...person, id: idsAt(person.atMs).next('usr'), passwordHash: null }));
  const [owner, member] = users;
  return {
    ownerId: owner!.id,
    memberId: member!.id,
    rows: (teamId) => ({
      users: users.map(userRow),
      memberships: [
        { user_id: owner!.id, account_id: teamId, role: 'owner', created_at: toInstant(owner!.atMs) },
        { user_id: member!.id, account_id: teamId, role: 'member', created_at: toInstant(member!.atMs) },
      ],
    }),
  };
}

/** The change log of what the operator did: accounts that were made and suspended, and what was paid in by hand. */
export function changeRows(demo: NewDemo, all: readonly AccountBooks[], { idsAt }: MonthScene): HistoryRow[] {
  return all.flatMap(({ account, entries }) => {
    const { id, name, isVerified, createdAtMs, suspended } = account;
    const shown = { id, name, verified: isVerified, status: 'active' };
    const row = (atMs: number, change: MadeChange): HistoryRow => ({
      id: idsAt(atMs).next(CHANGE_PREFIX),
      begun_at: toInstant(atMs),
      ended_at: toInstant(atMs + 12),
      outcome: 'done',
      actor_kind: 'user',
      actor_id: demo.userId,
      actor_name: demo.name,
      subject_kind: 'account',
      subject_id: id,
      account_id: id,
      client_address: '127.0.0.1',
      request_id: idsAt(atMs).next('req'),
      ...change,
    });
    const creation = {
      method: 'POST',
      path: '/admin/v1/accounts',
      action: 'accounts.create',
      before: null,
      after: shown,
    };
    return [
      row(createdAtMs, creation),
      ...entries.filter(isByHand).map(({ kind, amount_nano: amountNano, memo, created_at: createdAt }) => {
        const collection = kind === 'top_up' ? 'top-ups' : 'adjustments';
        return row(Date.parse(String(createdAt)), {
          method: 'POST',
          path: `/admin/v1/accounts/:id/${collection}`,
          action: `accounts.${collection}.create`,
          before: shown,
          after: { amountYuan: formatYuan(BigInt(String(amountNano))), memo: String(memo) },
        });
      }),
      ...(suspended === undefined
        ? []
        : [
            row(suspended.atMs, {
              method: 'PATCH',
              path: '/admin/v1/accounts/:id',
              action: 'accounts.change',
              before: shown,
              after: { ...shown, status: 'suspended', statusReason: suspended.reason },
            }),
          ]),
    ];
  });
}

interface MadeChange {
  readonly method: string;
  readonly path: string;
  readonly action: string;
  readonly before: object | null;
  readonly after: object;
}

/** Whether the operator posted an entry: others are charges, or come from vouchers and automatic top-ups. */
function isByHand({ kind, memo }: HistoryRow): boolean {
  return (kind === 'top_up' || kind === 'adjustment') && typeof memo === 'string' && /^(invoice|credit)/.test(memo);
}
