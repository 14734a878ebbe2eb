import { type Statement, toArray } from '../../db/database.ts';
import type { DirectoryPool } from '../../db/home-pools.ts';
import { createNameSearch } from '../../db/name-search.ts';
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
import type { LookedThrough, SliceTiming } from '../../lib/slices.ts';
import type { NewVoucherBatch, VoucherGift } from './voucher.ts';

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
    '(select count(*)::int from voucher_redemptions r where r.batch_id = b.id) as redeemed_count',
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

const selectByKey: Statement = {
  name: 'vouchers.select-batch-by-key',
  text: `select ${BATCHES.list} from voucher_batches b where b.idempotency_key = $1`,
};

const insertVouchers: Statement = {
  name: 'vouchers.insert-vouchers',
  text: `insert into vouchers (code_hash, batch_id, code_end)
select decode(code_hash, 'hex'), $1, code_end from unnest($2::text[], $3::text[]) as made (code_hash, code_end)`,
};

/** Selects batches with the number of redemptions, by an index-only scan of voucher_redemptions_by_batch. */
const selectListed: Statement = {
  name: 'vouchers.select-listed',
  text: `select ${BATCHES.list} from voucher_batches b where b.id = any ($1::text[]) order by b.id desc`,
};

const selectByCode: Statement = {
  name: 'vouchers.select-by-code',
  text: `select ${BATCHES.list} from vouchers v join voucher_batches b on b.id = v.batch_id where v.code_hash = $1::bytea`,
};

const selectBatch: Statement = {
  name: 'vouchers.select-batch',
  text: `select ${BATCHES.list} from voucher_batches b where b.id = $1`,
};

/** Cancels a batch after pending redemptions, which lock its row. If it is already canceled, the first date is kept. */
const cancelBatch: Statement = {
  name: 'vouchers.cancel-batch',
  text: 'update voucher_batches set canceled_at = coalesce(canceled_at, $2::timestamptz) where id = $1 returning id',
};

export type VoucherStore = ReturnType<typeof createVoucherStore>;

export function createVoucherStore(database: DirectoryPool) {
  const search = createNameSearch(database, 'voucher_batches', ['name']);
  return {
    /** Inserts a batch. If the idempotency key belongs to an earlier batch, returns that one as `earlier` instead. */
    insert: (batch: NewVoucherBatch): Promise<{ readonly batch: VoucherBatch } | { readonly earlier: VoucherBatch }> =>
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
    /** Lists batches, newest first. With `text`, only those whose name contains the text, ignoring case, or whose id equals it. */
    async list(
      text: string | undefined,
      beforeId: string | null,
      limit: number,
      timing: SliceTiming,
    ): Promise<LookedThrough<VoucherBatch>> {
      const { items, next } = await search(text, beforeId, limit, timing);
      return { items: BATCHES.all(await database.query(selectListed, [toArray(items)])), next };
    },
    find: async (id: string): Promise<VoucherBatch | null> => BATCHES.first(await database.query(selectBatch, [id])),
    /** Finds the batch of a code; `null`: the code does not exist. */
    findByCode: async (codeHash: Buffer): Promise<VoucherBatch | null> =>
      BATCHES.first(await database.query(selectByCode, [codeHash])),
    /** Cancels a batch. Returns `false` if it does not exist. */
    cancel: async (id: string, at: Date): Promise<boolean> => (await database.query(cancelBatch, [id, at])).length > 0,
  };
}
