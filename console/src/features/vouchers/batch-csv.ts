import { CsvAmount, csvLine } from '../../../../src/lib/csv.ts';
import type { NewVoucherBatch } from '../../api/types.ts';

/** The codes of a new batch in the gateway's `text/csv` format. */
export function batchCsv({ codes, amountYuan, planId, expiresAt }: NewVoucherBatch): string {
  const amount = amountYuan === null ? null : new CsvAmount(amountYuan);
  return [
    csvLine(['code', 'amountYuan', 'planId', 'expiresAt']),
    ...codes.map((code) => csvLine([code, amount, planId, expiresAt])),
  ].join('');
}
