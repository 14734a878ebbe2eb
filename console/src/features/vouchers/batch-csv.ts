import type { NewVoucherBatch } from '../../api/types.ts';

/** The codes of a new batch, as the gateway writes them for `Accept: text/csv`. */
export function batchCsv({ codes, amountYuan, planId, expiresAt }: NewVoucherBatch): string {
  const rest = [amountYuan, planId, expiresAt].map((value) => value ?? '').join(',');
  return ['code,amountYuan,planId,expiresAt', ...codes.map((code) => `${code},${rest}`), ''].join('\r\n');
}
