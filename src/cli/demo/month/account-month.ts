import { createApiKey, displayPrefix, hashApiKey } from '../../../accounting/accounts/key-format.ts';
import { ACCOUNT_SUSPENDED } from '../../../accounting/accounts/status-store.ts';
import type { CallOutcome } from '../../../accounting/calls/call-outcome.ts';
import { AccountLedger } from '../../../accounting/history/account-ledger.ts';
import type { storedVoucher } from '../../../accounting/vouchers/voucher-code.ts';
import { callsOf } from './key-calls.ts';
import { type AccountLife, type KeyLife, MONTH_DAYS, VOUCHERS } from './lives.ts';
import { nanoOf, type Scene } from './scene.ts';

const REFUSALS = {
  unverified: { status: 401, code: 'invalid_api_key', message: 'The account of this API key is not verified.' },
  suspended: { status: 401, code: 'invalid_api_key', message: ACCOUNT_SUSPENDED },
  unpaid: {
    status: 402,
    code: 'insufficient_balance',
    message: 'The balance is used up or reserved by calls in flight.',
  },
};

export type Voucher = ReturnType<typeof storedVoucher> & { readonly batchId: string };

/** Simulates the month of an account, and adds its rows to the scene. The demo's own account gets the stored secrets. */
export function playAccount(life: AccountLife, keys: readonly KeyLife[], vouchers: Voucher[], scene: Scene) {
  const { add, atDay, demo, idAt, nowMs } = scene;
  const { name, email, refills, isUnverified = false } = life;
  const createdAtMs = atDay(life.day);
  const suspendedAtMs = life.suspendedDay === undefined ? null : atDay(life.suspendedDay);
  const accountId = name === demo.name ? demo.accountId : idAt('acct', createdAtMs);
  const paidNano = nanoOf(life.yuan);
  const calls: CallOutcome[] = [];
  const ledger = new AccountLedger(accountId);

  function redeem(voucher: Voucher, atMs: number): void {
    const idempotencyKey = `voucher ${voucher.codeHash.toString('hex')}`;
    const entryNo = ledger.post('top_up', nanoOf(VOUCHERS.yuan), atMs, { memo: VOUCHERS.name, idempotencyKey });
    const redeemed = { redeemedAtMs: atMs, redeemedBy: name, entryNo };
    add('voucher_redemptions', { ...voucher, id: idAt('vr', atMs), accountId, ...redeemed });
  }

  function refusalOf({ endedAtMs, chargeNano }: CallOutcome): object | null {
    if (isUnverified) return REFUSALS.unverified;
    if (suspendedAtMs !== null && endedAtMs >= suspendedAtMs) return REFUSALS.suspended;
    return chargeNano !== null && ledger.balanceNano <= 0n ? REFUSALS.unpaid : null;
  }

  function end(call: CallOutcome): void {
    const { callId, requestId, keyId, operation, model, endedAtMs, chargeNano } = call;
    const refusal = refusalOf(call);
    if (refusal !== null) {
      const of = { accountId, keyId, operation, model, clientAddress: '192.0.2.17' };
      add('refusals', { id: requestId, atMs: endedAtMs, count: 1, ...of, ...refusal });
      return;
    }
    calls.push(call);
    if (chargeNano !== null) ledger.post('charge', -chargeNano, endedAtMs, { callId });
    if (refills && ledger.balanceNano < paidNano / 4n) ledger.topUpTo(paidNano, endedAtMs);
  }

  const status = suspendedAtMs === null ? 'active' : 'suspended';
  const statusReason = suspendedAtMs === null ? null : 'the invoice is not paid';
  const times = { createdAtMs, updatedAtMs: suspendedAtMs ?? createdAtMs, statusChangedAtMs: suspendedAtMs };
  add('accounts', { id: accountId, name, email, verified: !isUnverified, status, statusReason, ...times });
  ledger.topUpTo(paidNano, createdAtMs);
  const made = keys.flatMap((key) => callsOf({ ...key, accountId, keyId: addKey(key, accountId, scene) }, scene));
  const inOrder = made.toSorted((left, right) => left.endedAtMs - right.endedAtMs);
  const voucherAtMs = atDay(life.voucherDay ?? MONTH_DAYS);
  for (const call of inOrder.filter(({ endedAtMs }) => endedAtMs < voucherAtMs)) end(call);
  if (voucherAtMs < nowMs) redeem(vouchers.pop()!, voucherAtMs);
  for (const call of inOrder.filter(({ endedAtMs }) => endedAtMs >= voucherAtMs)) end(call);
  if (refills) ledger.topUpTo(paidNano, nowMs - 60_000);
  for (const entry of ledger.entries) add('ledger_entries', entry);
  add('balances', ledger.balance);
  return { accountId, life, calls };
}

/** Adds a key. @returns its id */
function addKey({ account, name, day, dailyCapYuan }: KeyLife, accountId: string, scene: Scene): string {
  const { add, atDay, demo, fillRandom, idAt } = scene;
  const isPrinted = account === demo.name && name === demo.name;
  const id = isPrinted ? demo.keyId : idAt('key', atDay(day));
  const text = isPrinted ? demo.key : createApiKey(fillRandom);
  const hashed = { keyHash: hashApiKey(text), prefix: displayPrefix(text) };
  add('api_keys', { accountId, id, name, ...hashed, createdAtMs: atDay(day), revokedAtMs: null });
  // The cap is set now, and spending counts from then on.
  const dailySpendCapNano = dailyCapYuan === undefined ? null : nanoOf(dailyCapYuan);
  if (dailySpendCapNano !== null) add('key_limits', { accountId, keyId: id, dailySpendCapNano });
  return id;
}
