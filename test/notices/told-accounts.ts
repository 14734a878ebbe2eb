import { createLedgerStore } from '../../src/accounting/ledger/ledger-store.ts';
import { createRoutes } from '../../src/accounting/partitions/routes.ts';
import type { PartitionedDatabases, PartitionPool } from '../../src/db/home-pools.ts';
import { createIds } from '../../src/lib/ids.ts';
import type { AccountTerms } from '../../src/notices/account-facts.ts';
import { createAccountNoticeStore } from '../../src/notices/account-notice-store.ts';
import { createThresholdStore } from '../../src/notices/threshold-store.ts';
import { NOW_MS, periodsAt } from '../support/accounting-builders.ts';
import { sql } from '../support/sql.ts';

const ids = createIds({ nowMs: () => NOW_MS });
/** Without configured thresholds. */
export const NO_TERMS: AccountTerms = {
  nowMs: NOW_MS,
  periods: periodsAt(NOW_MS),
  lowBalanceNano: null,
  planPercents: [],
  budgetPercents: [],
  plans: new Map(),
  dailyCapNano: () => null,
};
export const NEW_NOTICES = { atMs: NOW_MS, nextId: () => ids.next('ntc'), hasMail: true };

export type NotifiedAccounts = ReturnType<typeof notifiedAccounts>;

/** Accounts of a partition, and their notices balance.low. */
export function notifiedAccounts({ directory, partitions }: PartitionedDatabases, number: number) {
  const partition = partitions[number]!;
  let made = 0;

  async function post(accountId: string, amountNano: bigint): Promise<void> {
    const entry = { kind: 'adjustment', memo: 'm', idempotencyKey: null, at: new Date(NOW_MS) } as const;
    await createLedgerStore(partition).post({ accountId, amountNano, ...entry });
  }

  return {
    post,
    /** Creates an account with a balance of 10 and an e-mail address. */
    async account(): Promise<string> {
      const id = `acct_told_${number}_${++made}`;
      await sql(
        directory,
        `insert into accounts (id, name, email, verified, status, partition_no, created_at, updated_at)
values ($1, 'n', $1 || '@example.com', true, 'active', $2::smallint, now(), now())`,
        [id, number],
      );
      await sql(partition, 'insert into balances (account_id) values ($1)', [id]);
      // With columns that databases of earlier versions have, too.
      await sql(partition, 'update balances set balance_nano = 10, last_entry_no = 1 where account_id = $1', [id]);
      await sql(
        partition,
        `insert into ledger_entries (account_id, entry_no, kind, amount_nano, balance_after_nano, memo, created_at)
values ($1, 1, 'adjustment', 10, 10, 'm', $2)`,
        [id, new Date(NOW_MS)],
      );
      return id;
    },
    setLowBalance: createThresholdStore({ directory, partitions: createRoutes(partitions, { find: () => number }) })
      .setLowBalance,
    /** One round of the finder. */
    async find(pool: PartitionPool = partition): Promise<void> {
      const { noticeChanges } = createAccountNoticeStore(pool, number);
      while ((await noticeChanges(NO_TERMS, NEW_NOTICES)) === 'more');
    },
    /** Balances in the account's notices, each with the number of its deliveries. */
    async told(accountId: string): Promise<string[]> {
      const found = await sql<{ balance: string; deliveries: number }>(
        directory,
        `select data ->> 'balanceYuan' as balance,
  (select count(*)::int from notice_deliveries d where d.notice_id = n.id) as deliveries
from notices n where account_id = $1 order by id`,
        [accountId],
      );
      return found.map(({ balance, deliveries }) => `${balance}: ${deliveries}`);
    },
    queued: async () =>
      (await sql<{ account_ids: string[] }>(partition, 'select account_ids from account_changes')).flatMap(
        ({ account_ids: queued }) => queued,
      ),
  };
}
