import { type Statement, toArray } from '../../db/database.ts';
import type { DirectoryLane } from '../../db/home-lanes.ts';
import {
  bigintColumn,
  countColumn,
  dateColumn,
  intColumn,
  orNull,
  type RowOf,
  selection,
  textColumn,
} from '../../db/table.ts';
import type { NewVoucherBatch, VoucherGift } from './voucher.ts';

/** The SQL of batches of vouchers: made, listed and canceled. */

/** What a batch `b` gives: one of the two. */
export const GIFT = selection({
  amountNano: orNull(bigintColumn('b.amount_nano')),
  planId: orNull(textColumn('b.plan_id')),
}).to(({ amountNano, planId }): VoucherGift => {
  return amountNano === null ? { kind: 'plan', planId: planId! } : { kind: 'value', amountNano };
});

const BATCHES = selection({
  id: textColumn('b.id'),
  name: textColumn('b.name'),
  gift: GIFT,
  voucherCount: countColumn('b.voucher_count'),
  redeemedCount: intColumn(
    `(
    select count(*)::int from voucher_redemptions r where r.batch_id = b.id and r.under_way_since is null
  ) as redeemed_count`,
  ),
  expiresAt: orNull(dateColumn('b.expires_at')),
  createdAt: dateColumn('b.created_at'),
  createdBy: textColumn('b.created_by'),
  canceledAt: orNull(dateColumn('b.canceled_at')),
});

export type VoucherBatch = RowOf<typeof BATCHES>;

const insertBatch: Statement = {
  name: 'vouchers.insert-batch',
  text: `insert into voucher_batches as b (
  id, name, amount_nano, plan_id, voucher_count, expires_at, created_at, created_by, idempotency_key
)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9)
on conflict (idempotency_key) where idempotency_key is not null do nothing
returning ${BATCHES.list}`,
};

/** By voucher_batches_by_key. */
const selectByKey: Statement = {
  name: 'vouchers.select-batch-by-key',
  text: `select ${BATCHES.list} from voucher_batches b where b.idempotency_key = $1`,
};

const insertVouchers: Statement = {
  name: 'vouchers.insert-vouchers',
  text: `insert into vouchers (code_hash, batch_id, code_end)
select decode(code_hash, 'hex'), $1, code_end from unnest($2::text[], $3::text[]) as made (code_hash, code_end)`,
};

/** Newest first: ids sort by time. Plans: primary key, backwards; voucher_redemptions_by_batch, index only. */
const listBatches: Statement = {
  name: 'vouchers.list-batches',
  text: `select ${BATCHES.list} from voucher_batches b
where $1::text is null or b.id < $1 order by b.id desc limit $2::int`,
};

/** Plan: primary key. */
const selectBatch: Statement = {
  name: 'vouchers.select-batch',
  text: `select ${BATCHES.list} from voucher_batches b where b.id = $1`,
};

/**
 * Waits for redemptions that are begun at the moment; behind it none is. A batch that is canceled already keeps its first date.
 */
const cancelBatch: Statement = {
  name: 'vouchers.cancel-batch',
  text: 'update voucher_batches set canceled_at = coalesce(canceled_at, $2::timestamptz) where id = $1 returning id',
};

export interface VoucherStore {
  /** Where the idempotency key has made a batch already, nothing is made and that one is returned as `earlier`. */
  insert(batch: NewVoucherBatch): Promise<{ readonly batch: VoucherBatch } | { readonly earlier: VoucherBatch }>;
  list(beforeId: string | null, limit: number): Promise<VoucherBatch[]>;
  find(id: string): Promise<VoucherBatch | null>;
  /** `false` if there is no such batch. */
  cancel(id: string, at: Date): Promise<boolean>;
}

export function createVoucherStore(database: DirectoryLane): VoucherStore {
  return {
    insert: (batch) =>
      database.transaction(async (transaction) => {
        const { id, name, gift, vouchers, expiresAt, at, createdBy, idempotencyKey } = batch;
        const [amountNano, planId] = gift.kind === 'value' ? [gift.amountNano, null] : [null, gift.planId];
        const values = [id, name, amountNano, planId, vouchers.length, expiresAt, at, createdBy, idempotencyKey];
        const made = BATCHES.first(await transaction.query(insertBatch, values));
        if (made === null) {
          const [earlier] = await transaction.query(selectByKey, [idempotencyKey]);
          return { earlier: BATCHES.read(earlier!) };
        }
        await transaction.query(insertVouchers, [
          id,
          toArray(vouchers.map(({ codeHash }) => codeHash.toString('hex'))),
          toArray(vouchers.map(({ codeEnd }) => codeEnd)),
        ]);
        return { batch: made };
      }),
    list: async (beforeId, limit) => BATCHES.all(await database.query(listBatches, [beforeId, limit])),
    find: async (id) => BATCHES.first(await database.query(selectBatch, [id])),
    cancel: async (id, at) => (await database.query(cancelBatch, [id, at])).length > 0,
  };
}
