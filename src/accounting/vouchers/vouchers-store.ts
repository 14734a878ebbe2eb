import { type Lane, type Statement, toArray } from '../../db/database.ts';
import type { NewVoucherBatch, VoucherBatch, VoucherGift } from './voucher.ts';

/** The SQL of batches of vouchers: made, listed and canceled. */

/** What a batch gives, as its row has it: one of the two. */
export interface GiftColumns {
  amount_nano: bigint | null;
  plan_id: string | null;
}

interface BatchRow extends GiftColumns {
  id: string;
  name: string;
  voucher_count: bigint;
  redeemed_count: number;
  expires_at: Date | null;
  created_at: Date;
  created_by: string;
  canceled_at: Date | null;
}

const BATCH_COLUMNS = `b.id, b.name, b.amount_nano, b.plan_id, b.voucher_count, b.expires_at, b.created_at, b.created_by,
  b.canceled_at, (select count(*)::int from voucher_redemptions r where r.batch_id = b.id) as redeemed_count`;

const insertBatch: Statement = {
  name: 'vouchers.insert-batch',
  text: `insert into voucher_batches as b (
  id, name, amount_nano, plan_id, voucher_count, expires_at, created_at, created_by, idempotency_key
)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9)
on conflict (idempotency_key) where idempotency_key is not null do nothing
returning ${BATCH_COLUMNS}`,
};

/** By voucher_batches_by_key. */
const selectByKey: Statement = {
  name: 'vouchers.select-batch-by-key',
  text: `select ${BATCH_COLUMNS} from voucher_batches b where b.idempotency_key = $1`,
};

const insertVouchers: Statement = {
  name: 'vouchers.insert-vouchers',
  text: `insert into vouchers (code_hash, batch_id, code_end)
select decode(code_hash, 'hex'), $1, code_end from unnest($2::text[], $3::text[]) as made (code_hash, code_end)`,
};

/** Newest first: ids sort by time. Plans: primary key, backwards; voucher_redemptions_by_batch, index only. */
const listBatches: Statement = {
  name: 'vouchers.list-batches',
  text: `select ${BATCH_COLUMNS} from voucher_batches b
where $1::text is null or b.id < $1 order by b.id desc limit $2::int`,
};

/** Plan: primary key. */
const selectBatch: Statement = {
  name: 'vouchers.select-batch',
  text: `select ${BATCH_COLUMNS} from voucher_batches b where b.id = $1`,
};

/** Waits for the redemptions that are under way. A batch that is canceled already keeps its first date. */
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

export function createVoucherStore(database: Lane): VoucherStore {
  return {
    insert: (batch) =>
      database.transaction(async (transaction) => {
        const { id, name, gift, vouchers, expiresAt, at, createdBy, idempotencyKey } = batch;
        const [amountNano, planId] = gift.kind === 'value' ? [gift.amountNano, null] : [null, gift.planId];
        const values = [id, name, amountNano, planId, vouchers.length, expiresAt, at, createdBy, idempotencyKey];
        const [row] = await transaction.query<BatchRow>(insertBatch, values);
        if (row === undefined) {
          const [earlier] = await transaction.query<BatchRow>(selectByKey, [idempotencyKey]);
          return { earlier: toBatch(earlier!) };
        }
        await transaction.query(insertVouchers, [
          id,
          toArray(vouchers.map(({ codeHash }) => codeHash.toString('hex'))),
          toArray(vouchers.map(({ codeEnd }) => codeEnd)),
        ]);
        return { batch: toBatch(row) };
      }),
    list: async (beforeId, limit) => (await database.query<BatchRow>(listBatches, [beforeId, limit])).map(toBatch),
    async find(id) {
      const [row] = await database.query<BatchRow>(selectBatch, [id]);
      return row === undefined ? null : toBatch(row);
    },
    cancel: async (id, at) => (await database.query(cancelBatch, [id, at])).length > 0,
  };
}

export function toGift({ amount_nano: amountNano, plan_id: planId }: GiftColumns): VoucherGift {
  return amountNano === null ? { kind: 'plan', planId: planId! } : { kind: 'value', amountNano };
}

function toBatch(row: BatchRow): VoucherBatch {
  return {
    id: row.id,
    name: row.name,
    gift: toGift(row),
    voucherCount: Number(row.voucher_count),
    redeemedCount: row.redeemed_count,
    expiresAt: row.expires_at,
    createdAt: row.created_at,
    createdBy: row.created_by,
    canceledAt: row.canceled_at,
  };
}
