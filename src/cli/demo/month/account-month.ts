import { createApiKey, displayPrefix, hashApiKey } from '../../../accounting/accounts/key-format.ts';
import type { CallOutcome } from '../../../accounting/calls/call-outcome.ts';
import type { HistoryRow } from '../../../accounting/history/history-store.ts';
import { type AccountLife, RHYTHMS, VOUCHERS } from './lives.ts';
import { choose, makeCall } from './made-call.ts';
import { HOUR_MS, hex, instant, nanoText, type Scene } from './scene.ts';

const REFUSALS = {
  unverified: { status: 401, code: 'invalid_api_key', message: 'The account of this API key is not verified.' },
  suspended: { status: 401, code: 'invalid_api_key', message: 'The account of this API key is suspended.' },
  unpaid: { status: 402, code: 'insufficient_balance', message: 'The balance is used up or held by calls in flight.' },
};

/** Has everything happen to an account, hour by hour, and adds its rows. The demo's own has the secrets of the demo. */
export function playAccount(life: AccountLife, scene: Scene, vouchers: HistoryRow[]) {
  const { add, atDay, demo, fillRandom, idAt, nowMs, random } = scene;
  const isOwn = life.name === demo.name;
  const madeMs = atDay(life.day);
  const accountId = isOwn ? demo.accountId : idAt('acct', madeMs);
  const suspendedMs = life.suspendedDay === undefined ? null : atDay(life.suspendedDay);
  const paidNano = BigInt(nanoText(life.yuan));
  const calls: CallOutcome[] = [];
  let balanceNano = 0n;
  let entryNo = 0;

  function post(kind: string, amountNano: bigint, atMs: number, columns: HistoryRow = {}): void {
    balanceNano += amountNano;
    entryNo++;
    const amounts = { amount_nano: String(amountNano), balance_after_nano: String(balanceNano) };
    const entry = { account_id: accountId, entry_no: entryNo, kind, ...amounts, created_at: instant(atMs) };
    add('ledger_entries', { ...entry, ...columns });
  }

  function redeem(atMs: number): void {
    const voucher = vouchers.pop()!;
    const key = `voucher ${String(voucher.code_hash).slice(2)}`;
    post('top_up', BigInt(nanoText(VOUCHERS.yuan)), atMs, { memo: VOUCHERS.name, idempotency_key: key });
    const redeemed = { redeemed_at: instant(atMs), redeemed_by: life.name, entry_no: entryNo };
    add('voucher_redemptions', { ...voucher, id: idAt('vr', atMs), account_id: accountId, ...redeemed });
  }

  function end(call: CallOutcome): void {
    const { callId, requestId, keyId, operation, model, endedAtMs, chargeNano } = call;
    let refusal: object | null = null;
    if (chargeNano !== null && balanceNano <= 0n) refusal = REFUSALS.unpaid;
    if (suspendedMs !== null && endedAtMs >= suspendedMs) refusal = REFUSALS.suspended;
    if (life.isUnverified) refusal = REFUSALS.unverified;
    if (refusal !== null) {
      const of = { account_id: accountId, key_id: keyId, operation, model, client_address: '192.0.2.17' };
      add('refusals', { id: requestId, at: instant(endedAtMs), count: 1, ...of, ...refusal });
      return;
    }
    calls.push(call);
    if (chargeNano !== null) post('charge', -chargeNano, endedAtMs, { call_id: callId });
  }

  const keys = life.keys.map((key, i) => {
    const isPrinted = isOwn && i === 0;
    const keyId = isPrinted ? demo.keyId : idAt('key', atDay(key.day));
    const text = isPrinted ? demo.key : createApiKey(fillRandom);
    const hashed = { key_hash: hex(hashApiKey(text)), prefix: displayPrefix(text) };
    const created = { created_at: instant(atDay(key.day)), revoked_at: null };
    add('api_keys', { account_id: accountId, id: keyId, name: key.name, ...hashed, ...created });
    return { ...key, keyId };
  });
  for (let hourMs = madeMs; hourMs <= nowMs; hourMs += HOUR_MS) {
    if (life.voucherDay !== undefined && hourMs === atDay(life.voucherDay)) redeem(hourMs);
    const isLow = life.refills && (hourMs === nowMs || balanceNano < paidNano / 4n);
    // What ends the month comes behind its last call.
    if (hourMs === madeMs || isLow) post('top_up', paidNano - balanceNano, Math.min(hourMs, nowMs - 60_000));
    const made = keys.flatMap((key) =>
      Array.from({ length: countOf(key, hourMs, scene) }, () => {
        const endedAtMs = hourMs + Math.floor((0.1 + 0.8 * random()) * HOUR_MS);
        const wanted = { accountId, keyId: key.keyId, context: key.isOnPlan ? 'coding' : 'balance', endedAtMs };
        return makeCall(choose(key.kinds, random), wanted, scene);
      }),
    );
    for (const call of made.toSorted((left, right) => left.endedAtMs - right.endedAtMs)) end(call);
  }

  const since = suspendedMs === null ? null : instant(suspendedMs);
  const times = { created_at: instant(madeMs), updated_at: since ?? instant(madeMs), status_changed_at: since };
  const status = { status: since === null ? 'active' : 'suspended', status_reason: since && 'the invoice is not paid' };
  const account = { id: accountId, name: life.name, email: life.email, verified: !life.isUnverified };
  add('accounts', { ...account, ...status, ...times });
  add('balances', { account_id: accountId, balance_nano: String(balanceNano), last_entry_no: entryNo });
  for (const { keyId, dailyCapYuan } of keys) {
    const last = calls.findLast((call) => call.keyId === keyId);
    const ofKey = { account_id: accountId, key_id: keyId };
    if (last !== undefined) add('key_uses', { ...ofKey, last_used_at: instant(last.startedAtMs) });
    // A cap counts from when it is set, which is now.
    if (dailyCapYuan !== undefined) add('key_limits', { ...ofKey, daily_spend_cap_nano: nanoText(dailyCapYuan) });
  }
  return { accountId, life, calls };
}

/** More by day and on working days, and more from week to week. */
function countOf(key: AccountLife['keys'][number], hourMs: number, { atDay, localTime, nowMs, random }: Scene): number {
  if (hourMs < atDay(key.day) || hourMs >= nowMs) return 0;
  const { hours, weekend } = RHYTHMS[key.rhythm];
  const isWeekend = [0, 6].includes(new Date(localTime.day(hourMs)).getUTCDay());
  const share = hours[Math.floor(localTime.minuteOfDay(hourMs) / 60)]! / hours.reduce((sum, each) => sum + each);
  const growth = 0.75 + (0.5 * (hourMs - atDay(0))) / (nowMs - atDay(0));
  return Math.floor(key.perDay * share * growth * (isWeekend ? weekend : 1) + random());
}
