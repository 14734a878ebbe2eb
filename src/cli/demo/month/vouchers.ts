import type { HistoryRow } from '../../../accounting/history/history-store.ts';
import {
  createVoucherCode,
  hashVoucherCode,
  readVoucherCode,
  shownEnd,
} from '../../../accounting/vouchers/voucher-code.ts';
import { type AccountBooks, toHex, toInstant } from './account-books.ts';
import { type HistoryEvent, type MonthScene, yuan } from './accounts.ts';
import { DAY_MS } from './rhythm.ts';

const COUNT = 20;
const VALUE_NANO = yuan(20);

/** A batch of vouchers, some of which were redeemed. Nobody has the codes of the others. */
export class Vouchers {
  readonly #batchId: string;
  readonly #scene: MonthScene;
  readonly #createdAtMs: number;
  readonly #codes: readonly { readonly hash: Buffer; readonly end: string }[];
  readonly #redemptions: HistoryRow[] = [];

  constructor(scene: MonthScene) {
    this.#scene = scene;
    this.#createdAtMs = scene.startMs + 4 * DAY_MS;
    this.#batchId = scene.idsAt(this.#createdAtMs).next('vb');
    this.#codes = Array.from({ length: COUNT }, () => {
      const code = readVoucherCode(createVoucherCode(scene.fillRandom))!;
      return { hash: hashVoucherCode(code), end: shownEnd(code) };
    });
  }

  /** The next voucher that nobody has redeemed, by an account at an instant. */
  redemption(books: AccountBooks, atMs: number, by: string): HistoryEvent {
    return {
      atMs,
      happen: () => {
        const { hash, end } = this.#codes[this.#redemptions.length]!;
        const entryNo = books.post({
          kind: 'top_up',
          amountNano: VALUE_NANO,
          atMs,
          memo: `voucher …${end} of ${this.#batchId}`,
          idempotencyKey: `voucher ${hash.toString('hex')}`,
        });
        this.#redemptions.push({
          code_hash: toHex(hash),
          id: this.#scene.idsAt(atMs).next('vr'),
          batch_id: this.#batchId,
          code_end: end,
          account_id: books.account.id,
          redeemed_at: toInstant(atMs),
          redeemed_by: by,
          entry_no: entryNo,
        });
      },
    };
  }

  get rows(): Record<'voucher_batches' | 'vouchers' | 'voucher_redemptions', readonly HistoryRow[]> {
    return {
      voucher_batches: [
        {
          id: this.#batchId,
          name: 'autumn workshop',
          amount_nano: String(VALUE_NANO),
          voucher_count: COUNT,
          expires_at: toInstant(this.#scene.nowMs + 60 * DAY_MS),
          created_at: toInstant(this.#createdAtMs),
          created_by: 'demo',
        },
      ],
      vouchers: this.#codes.map(({ hash, end }) => ({
        code_hash: toHex(hash),
        batch_id: this.#batchId,
        code_end: end,
      })),
      voucher_redemptions: this.#redemptions,
    };
  }
}
