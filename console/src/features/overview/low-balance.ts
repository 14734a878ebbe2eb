import type { ResponseOf } from '../../api/client.ts';
import { toNano } from '../../text/yuan.ts';

/** Below which balance a notice is sent: what the account has set, or else the gateway; `null`: neither has. */
type LowBalance = Pick<ResponseOf<'GET /account/v1/low-balance'>, 'thresholdYuan' | 'defaultThresholdYuan'>;

/** The threshold that a balance is below; `null` if it is not, and where nothing is left that could be low. */
export function thresholdAbove(balanceYuan: string, low: LowBalance): string | null {
  const thresholdYuan = low.thresholdYuan ?? low.defaultThresholdYuan;
  if (thresholdYuan === null) return null;
  const balanceNano = toNano(balanceYuan);
  return balanceNano > 0n && balanceNano < toNano(thresholdYuan) ? thresholdYuan : null;
}
