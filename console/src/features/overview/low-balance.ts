import type { ResponseOf } from '../../api/client.ts';
import { toNano } from '../../text/yuan.ts';

/** The balance threshold of notices: the account's, otherwise the gateway's; `null` if neither is set. */
type LowBalance = Pick<ResponseOf<'GET /account/v1/low-balance'>, 'thresholdYuan' | 'defaultThresholdYuan'>;

/** The threshold, if the balance is below it but above zero; otherwise `null`. */
export function thresholdAbove(balanceYuan: string, low: LowBalance): string | null {
  const thresholdYuan = low.thresholdYuan ?? low.defaultThresholdYuan;
  if (thresholdYuan === null) return null;
  const balanceNano = toNano(balanceYuan);
  return balanceNano > 0n && balanceNano < toNano(thresholdYuan) ? thresholdYuan : null;
}
