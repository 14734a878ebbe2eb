import { createHash } from 'node:crypto';
import { debtAfter, overMs, type Rate } from '../lib/rate-debts.ts';

/** How much may be sent. */
export interface SendRate extends Rate {
  /** Who or what it is counted by. No address stands in it as it is. */
  readonly subject: string;
  /** For how many the next one counts. */
  readonly cost: number;
}

const MINUTE_MS = 60_000;

/**
 * Mails to an address, of whatever kind and for whomever. A notice counts once: many keys of an owner may expire on one day. A link
 * counts four times: its address is chosen by somebody else.
 */
export const TO_ADDRESS = { burst: 40, everyMs: 15 * MINUTE_MS };
export const COSTS = { notice: 1, link: 4 } as const;
/** Mails that an account has caused, to whatever address. */
export const OF_ACCOUNT = { burst: 200, everyMs: 2.5 * MINUTE_MS };
/** Tests and repeated notices to the endpoints of an account, however often these are made anew. */
export const ASKED_SENDS_A_MINUTE = 10;
const ASKED_SENDS = { burst: ASKED_SENDS_A_MINUTE, everyMs: MINUTE_MS / ASKED_SENDS_A_MINUTE, cost: 1 };

/** What a mail counts for. `accountId`: the account that it is about; `null`: an operator causes it. */
export function ratesOfMail(kind: keyof typeof COSTS, accountId: string | null, address: string): SendRate[] {
  const cost = COSTS[kind];
  const hash = createHash('sha256').update(address.trim().toLowerCase()).digest('base64url');
  const rates: SendRate[] = [{ subject: `mail to ${hash}`, ...TO_ADDRESS, cost }];
  if (accountId !== null) rates.push({ subject: `mail of ${accountId}`, ...OF_ACCOUNT, cost });
  return rates;
}

/** What a test or a repeated notice to an endpoint counts for. Operators have as many for each. */
export function ratesOfAskedSend({ accountId, id }: { accountId: string | null; id: string }): SendRate[] {
  return [{ subject: accountId === null ? `asked at ${id}` : `asked by ${accountId}`, ...ASKED_SENDS }];
}

/**
 * Decides whether one more may be sent, by when the debts of its subjects are repaid (absent: there is none). Returns the debts
 * with it, or how long it has to wait.
 */
export function decideSend(
  rates: readonly SendRate[],
  repaidAtMs: ReadonlyMap<string, number>,
  nowMs: number,
): { readonly repaidAtMs: readonly number[] } | { readonly waitMs: number } {
  const debts = rates.map((rate) => debtAfter(repaidAtMs.get(rate.subject), rate, nowMs, rate.cost));
  const waitMs = Math.max(...rates.map((rate, i) => overMs(debts[i]!, rate, nowMs)));
  return waitMs > 0 ? { waitMs } : { repaidAtMs: debts };
}
