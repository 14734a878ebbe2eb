import type { Statement } from '../../db/database.ts';
import type { DirectoryLane, DirectoryQueryable } from '../../db/home-lanes.ts';
import {
  bigintColumn,
  booleanColumn,
  bytesColumn,
  dateColumn,
  orNull,
  type RowOf,
  selection,
  textColumn,
} from '../../db/table.ts';
import { decideCode, type OpenRedemption, type RedeemRefusal, type RedemptionRequest } from './voucher.ts';
import { GIFT } from './vouchers-store.ts';

/** The SQL of codes that are redeemed, in the directory: which account has a code, and what it got as far as that is known here. */

const VOUCHERS = selection({
  batchId: textColumn('v.batch_id'),
  codeEnd: textColumn('v.code_end'),
  gift: GIFT,
  expiresAt: orNull(dateColumn('b.expires_at')),
  canceledAt: orNull(dateColumn('b.canceled_at')),
});

/**
 * The voucher of a code. Whoever redeems it at the same time waits here, and so does a cancellation of its batch. Plan: primary
 * keys.
 */
const lockVoucher: Statement = {
  name: 'vouchers.lock-voucher',
  text: `select ${VOUCHERS.list}
from vouchers v join voucher_batches b on b.id = v.batch_id
where v.code_hash = $1::bytea
for update of v for share of b`,
};

/** Plan: primary key. */
const accountExists: Statement = {
  name: 'vouchers.account-exists',
  text: 'select from accounts where id = $1',
};

/** What became of a voucher, once. */
const REDEMPTIONS = selection({
  id: textColumn('r.id'),
  codeHash: bytesColumn('r.code_hash'),
  batchId: textColumn('r.batch_id'),
  codeEnd: textColumn('r.code_end'),
  gift: GIFT,
  accountId: textColumn('r.account_id'),
  redeemedAt: dateColumn('r.redeemed_at'),
  redeemedBy: textColumn('r.redeemed_by'),
  /** Of a value. */
  entryNo: orNull(bigintColumn('r.entry_no')),
  /** Of a plan. */
  subscriptionId: orNull(textColumn('r.subscription_id')),
  isWhole: booleanColumn('r.under_way_since is null as is_whole'),
});

export type StoredRedemption = RowOf<typeof REDEMPTIONS>;

const SELECT_REDEMPTIONS = `select ${REDEMPTIONS.list}
from voucher_redemptions r join voucher_batches b on b.id = r.batch_id`;

/** Whole or under way. Plan: primary keys. */
const selectRedemption: Statement = {
  name: 'vouchers.select-redemption',
  text: `${SELECT_REDEMPTIONS} where r.code_hash = $1::bytea`,
};

const insertRedemption: Statement = {
  name: 'vouchers.insert-redemption',
  text: `insert into voucher_redemptions (
  code_hash, id, batch_id, code_end, account_id, redeemed_at, redeemed_by, subscription_id, under_way_since
)
values ($1, $2, $3, $4, $5, $6, $7, $8, clock_timestamp())`,
};

/** Once, whoever does it. Plan: primary key. */
const completeRedemption: Statement = {
  name: 'vouchers.complete-redemption',
  text: `update voucher_redemptions set entry_no = $3, subscription_id = $4, under_way_since = null
where code_hash = $1::bytea and id = $2 and under_way_since is not null`,
};

/** Plan: primary key. */
const deleteRedemption: Statement = {
  name: 'vouchers.delete-redemption',
  text: 'delete from voucher_redemptions where code_hash = $1::bytea and id = $2 and under_way_since is not null',
};

/** Whole ones, newest first. Walks voucher_redemptions_by_batch backwards. */
const listRedemptions: Statement = {
  name: 'vouchers.list-redemptions',
  text: `${SELECT_REDEMPTIONS}
where r.batch_id = $1 and r.under_way_since is null and ($2::text is null or r.id < $2)
order by r.id desc limit $3::int`,
};

/** Of a batch, or of all if there is none, in the order of ids. Walks voucher_redemptions_under_way, which has few. */
const listUnderWay: Statement = {
  name: 'vouchers.list-under-way',
  text: `${SELECT_REDEMPTIONS}
where r.under_way_since is not null and r.under_way_since <= clock_timestamp() - $1::int * interval '1 millisecond'
  and ($2::text is null or r.batch_id = $2) and r.id > $3
order by r.id limit $4::int`,
};

/** How many are finished at a time. */
const ROWS_MAX = 100;

/** What a code is for an account. */
type CodeStanding =
  | { readonly outcome: 'free' | 'under_way'; readonly open: OpenRedemption }
  | { readonly outcome: 'whole'; readonly redemption: StoredRedemption }
  | { readonly outcome: RedeemRefusal };

export type RedemptionStore = ReturnType<typeof createRedemptionStore>;

export function createRedemptionStore(directory: DirectoryLane) {
  return {
    /** Whole ones, newest first. */
    list: async (batchId: string, beforeId: string | null, limit: number): Promise<StoredRedemption[]> =>
      REDEMPTIONS.all(await directory.query(listRedemptions, [batchId, beforeId, limit])),
    /** Of a code; `null` if it is not redeemed, or not wholly yet. */
    async find(codeHash: Buffer): Promise<StoredRedemption | null> {
      const redemption = REDEMPTIONS.first(await directory.query(selectRedemption, [codeHash]));
      return redemption?.isWhole ? redemption : null;
    },
    /** Changes nothing. Of a code that is `free`: what the redemption would be. */
    look: (request: RedemptionRequest): Promise<CodeStanding> =>
      directory.transaction((transaction) => readStanding(transaction, request)),
    /** As `look`, but of a code that was free the redemption is `under_way` then, and nobody else gets the code. */
    begin: (request: RedemptionRequest): Promise<CodeStanding> =>
      directory.transaction(async (transaction) => {
        const standing = await readStanding(transaction, request);
        if (standing.outcome !== 'free') return standing;
        const { open } = standing;
        const { codeHash, id, batchId, codeEnd, accountId, redeemedAt, subscriptionId } = open;
        const values = [codeHash, id, batchId, codeEnd, accountId, redeemedAt, request.by, subscriptionId];
        await transaction.query(insertRedemption, values);
        return { outcome: 'under_way', open };
      }),
    /** Makes a redemption whole. */
    async complete(
      { codeHash, id }: OpenRedemption,
      { entryNo, subscriptionId }: Pick<StoredRedemption, 'entryNo' | 'subscriptionId'>,
    ): Promise<StoredRedemption> {
      await directory.query(completeRedemption, [codeHash, id, entryNo, subscriptionId]);
      const redemption = REDEMPTIONS.first(await directory.query(selectRedemption, [codeHash]));
      if (redemption?.id !== id || !redemption.isWhole) throw new Error(`the redemption ${id} is not there any more`);
      return redemption;
    },
    /** The code is free again. */
    async undo({ codeHash, id }: OpenRedemption): Promise<void> {
      await directory.query(deleteRedemption, [codeHash, id]);
    },
    /** Those that are under way for so long, behind an id. */
    listUnderWay: async (
      behindId: string,
      { olderThanMs, batchId = null }: { readonly olderThanMs: number; readonly batchId?: string | null },
    ): Promise<readonly OpenRedemption[]> =>
      REDEMPTIONS.all(await directory.query(listUnderWay, [olderThanMs, batchId, behindId, ROWS_MAX])),
  };
}

async function readStanding(transaction: DirectoryQueryable, request: RedemptionRequest): Promise<CodeStanding> {
  const { accountId, codeHash, redemptionId, subscriptionId, at } = request;
  const isAccount = (await transaction.query(accountExists, [accountId])).length > 0;
  const voucher = VOUCHERS.first(await transaction.query(lockVoucher, [codeHash]));
  const redemption = REDEMPTIONS.first(await transaction.query(selectRedemption, [codeHash]));
  const outcome = decideCode({ isAccount, voucher, redemption }, request);
  if (outcome === 'whole') return { outcome, redemption: redemption! };
  if (outcome === 'under_way') return { outcome, open: redemption! };
  if (outcome !== 'free') return { outcome };
  const { batchId, codeEnd, gift } = voucher!;
  const begins = gift.kind === 'plan' ? subscriptionId : null;
  const open = {
    id: redemptionId,
    codeHash,
    codeEnd,
    batchId,
    gift,
    accountId,
    redeemedAt: at,
    subscriptionId: begins,
  };
  return { outcome, open };
}
