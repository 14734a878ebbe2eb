import { createHash } from 'node:crypto';
import { debtAfter, overMs, type Rate } from '../lib/rate-debts.ts';

export interface SendRate extends Rate {
  /** Key by which sends are counted. It contains no readable e-mail address. */
  readonly subject: string;
  readonly cost: number;
}

const MINUTE_MS = 60_000;

/**
 * Limit of mails to one address. A notice costs one unit, because many keys of an owner may expire on the same day. A link costs four,
 * because somebody else chose the address.
 */
export const TO_ADDRESS = { burst: 40, everyMs: 15 * MINUTE_MS };
export const COSTS = { notice: 1, link: 4 } as const;
/** Limit of mails for password resets to one address. Anybody can ask for them, so they do not count with other mails. */
export const RESETS = { burst: 5, everyMs: 15 * MINUTE_MS };
/** Limit of mails that one account causes. */
export const OF_ACCOUNT = { burst: 200, everyMs: 2.5 * MINUTE_MS };
/** Limit of tests and redeliveries of an account per minute, for all of its endpoints together. */
export const ASKED_SENDS_A_MINUTE = 10;
const ASKED_SENDS = { burst: ASKED_SENDS_A_MINUTE, everyMs: MINUTE_MS / ASKED_SENDS_A_MINUTE, cost: 1 };

/** Returns the limits for a mail. `accountId`: account that the mail is about; `null`: an operator caused it. */
export function ratesOfMail(kind: keyof typeof COSTS | 'reset', accountId: string | null, address: string): SendRate[] {
  const hash = createHash('sha256').update(address.trim().toLowerCase()).digest('base64url');
  if (kind === 'reset') return [{ subject: `reset to ${hash}`, ...RESETS, cost: 1 }];
  const cost = COSTS[kind];
  const rates: SendRate[] = [{ subject: `mail to ${hash}`, ...TO_ADDRESS, cost }];
  if (accountId !== null) rates.push({ subject: `mail of ${accountId}`, ...OF_ACCOUNT, cost });
  return rates;
}

/** Returns the limits for a test or redelivery: one for all endpoints of an account, or one for an endpoint of operators. */
export function ratesOfAskedSend({ accountId, id }: { accountId: string | null; id: string }): SendRate[] {
  return [{ subject: accountId === null ? `asked at ${id}` : `asked by ${accountId}`, ...ASKED_SENDS }];
}

/** Decides on a send. `repaidAtMs`: when the debt of each subject is repaid. Returns the new debts, or the milliseconds to wait. */
export function decideSend(
  rates: readonly SendRate[],
  repaidAtMs: ReadonlyMap<string, number>,
  nowMs: number,
): { readonly repaidAtMs: readonly number[] } | { readonly waitMs: number } {
  const debts = rates.map((rate) => debtAfter(repaidAtMs.get(rate.subject), rate, nowMs, rate.cost));
  const waitMs = Math.max(...rates.map((rate, i) => overMs(debts[i]!, rate, nowMs)));
  return waitMs > 0 ? { waitMs } : { repaidAtMs: debts };
}
