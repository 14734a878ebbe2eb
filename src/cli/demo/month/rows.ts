import { beganAtMs } from '../../../accounting/counts/counted-since.ts';
import { placeOf } from '../../../accounting/counts/counted-use.ts';
import type { HistoryRow } from '../../../accounting/history/history-store.ts';
import { compilePlans } from '../../../accounting/plans/plan.ts';
import {
  createVoucherCode,
  hashVoucherCode,
  readVoucherCode,
  shownEnd,
} from '../../../accounting/vouchers/voucher-code.ts';
import { CHANGE_PREFIX } from '../../../changes/change-log.ts';
import type { Config } from '../../../config/schema.ts';
import { formatYuan } from '../../../lib/yuan.ts';
import type { NewDemo } from '../new-demo.ts';
import { type Books, hex, instant, type MonthScene, yuan } from './books.ts';
import type { CallKind } from './made-call.ts';
import { DAY_MS, HOUR_MS } from './rhythm.ts';

/** Rows of a month beside those of accounts, keys and ledgers. */

/** The person who has started the demo: operator, and owner of the demo's account. */
export function operatorRows({ userId, name, accountId }: NewDemo, passwordHash: string, atMs: number) {
  return {
    users: [userRow({ id: userId, name, email: null, role: 'operator', atMs }, passwordHash)],
    memberships: [membershipRow(userId, accountId, 'owner', atMs)],
  };
}

export interface Person {
  readonly id: string;
  readonly name: string;
  readonly email: string | null;
  readonly role: 'operator' | 'auditor' | null;
  readonly atMs: number;
}

/** Whoever has no password was invited, and has not signed in yet. */
export function userRow({ id, name, email, role, atMs }: Person, passwordHash: string | null = null): HistoryRow {
  const ofPerson = { id, email, name, sign_in_name: email ?? name, operator_role: role };
  return { ...ofPerson, password_hash: passwordHash, status: 'active', created_at: instant(atMs) };
}

export function membershipRow(userId: string, accountId: string, role: string, atMs: number): HistoryRow {
  return { user_id: userId, account_id: accountId, role, created_at: instant(atMs) };
}

/** Why a call was not taken, as clients of the chat family are told. */
const REASONS = {
  insufficientBalance: {
    status: 402,
    code: 'insufficient_balance',
    message: 'The balance is used up or held by calls in flight. Top up, or wait for them to finish.',
  },
  suspended: { status: 401, code: 'invalid_api_key', message: 'The account of this API key is suspended.' },
  unverified: { status: 401, code: 'invalid_api_key', message: 'The account of this API key is not verified.' },
} as const;

/** The record of a refusal. The address is one for documents (RFC 5737). */
export function refusalRow(
  why: keyof typeof REASONS,
  call: { readonly accountId: string; readonly keyId: string; readonly kind: CallKind; readonly atMs: number },
  { idsAt }: MonthScene,
): HistoryRow {
  const { accountId, keyId, kind, atMs } = call;
  const of = { account_id: accountId, key_id: keyId, operation: kind.operation, model: kind.model };
  const request = { client_address: '192.0.2.17', method: 'POST', path: PATHS[kind.operation] };
  return { id: idsAt(atMs).next('req'), at: instant(atMs), count: 1, ...of, ...request, ...REASONS[why] };
}

const PATHS: Readonly<Record<CallKind['operation'], string>> = {
  chat: '/v1/chat/completions',
  responses: '/v1/responses',
  messages: '/v1/messages',
  embeddings: '/v1/embeddings',
  rerank: '/v1/rerank',
  'images.generate': '/v1/images/generations',
};

/** A call whose node died. */
export function unresolvedRow(accountId: string, keyId: string, atMs: number, { idsAt }: MonthScene): HistoryRow {
  const ids = idsAt(atMs);
  return {
    account_id: accountId,
    id: ids.next('call'),
    key_id: keyId,
    request_id: ids.next('req'),
    context: 'balance',
    operation: 'messages',
    model: 'demo-messages',
    is_stream: true,
    price_rule: 'base',
    provider: 'simulated-messages',
    provider_model: 'simulated-messages-1',
    status: 'unresolved',
    error_code: 'call_unresolved',
    reserved_nano: String(yuan(0.412)),
    started_at: instant(atMs),
    ended_at: instant(atMs + 21_000),
    input_tokens: 0,
    cached_input_tokens: 0,
    cache_write_tokens: 0,
    cache_write_1h_tokens: 0,
    output_tokens: 0,
    reasoning_tokens: 0,
  };
}

const VOUCHERS = 20;

/** A batch of vouchers, some of which are redeemed. Nobody has the codes of the others. */
export function makeVouchers({ startMs, nowMs, idsAt, fillRandom }: MonthScene) {
  const createdAtMs = startMs + 4 * DAY_MS;
  const batchId = idsAt(createdAtMs).next('vb');
  const codes = Array.from({ length: VOUCHERS }, () => readVoucherCode(createVoucherCode(fillRandom))!);
  const vouchers = codes.map((code) => ({
    code_hash: hex(hashVoucherCode(code)),
    batch_id: batchId,
    code_end: shownEnd(code),
  }));
  const redemptions: HistoryRow[] = [];
  return {
    /** Has an account redeem the next one. */
    redeem(books: Books, atMs: number, by: string): void {
      books.at(atMs, () => {
        const voucher = vouchers[redemptions.length]!;
        const memo = `voucher …${voucher.code_end} of ${batchId}`;
        const key = `voucher ${voucher.code_hash.slice(2)}`;
        const entryNo = books.post('top_up', yuan(20), atMs, { memo, idempotency_key: key });
        const redeemed = { redeemed_at: instant(atMs), redeemed_by: by, entry_no: entryNo };
        redemptions.push({ ...voucher, id: idsAt(atMs).next('vr'), account_id: books.id, ...redeemed });
      });
    },
    rows: {
      voucher_batches: [
        {
          id: batchId,
          name: 'autumn workshop',
          amount_nano: String(yuan(20)),
          voucher_count: VOUCHERS,
          expires_at: instant(nowMs + 60 * DAY_MS),
          created_at: instant(createdAtMs),
          created_by: 'demo',
        },
      ],
      vouchers,
      voucher_redemptions: redemptions,
    },
  };
}

export type Vouchers = ReturnType<typeof makeVouchers>;

/** The subscription with what its calls have used of it. */
export function planRows(
  { id, outcomes }: Books,
  planId: string,
  startsAtMs: number,
  config: Config,
  scene: MonthScene,
) {
  const { nowMs } = scene;
  const { periodDays } = compilePlans(config).find((plan) => plan.id === planId)!;
  const subscriptionId = scene.idsAt(startsAtMs).next('sub');
  const weekAtMs = beganAtMs(startsAtMs, 7 * DAY_MS, nowMs);
  // A call whose success has begun keeps its slot.
  const counted = outcomes.filter(({ context, usage }) => context === 'coding' && usage !== null);
  const weekCalls = counted.filter(({ startedAtMs }) => startedAtMs >= weekAtMs).length;
  const slots = counted.filter(({ startedAtMs }) => startedAtMs > nowMs - 5 * HOUR_MS);
  const periodTokens = counted.reduce(
    (sum, { usage }) =>
      sum + usage!.inputTokens + usage!.cachedInputTokens + usage!.cacheWriteTokens + usage!.outputTokens,
    0,
  );
  const startsAt = instant(startsAtMs);
  const subscription = {
    account_id: id,
    id: subscriptionId,
    plan_id: planId,
    starts_at: startsAt,
    created_at: startsAt,
    ends_at: instant(startsAtMs + periodDays * DAY_MS),
    slots: slots.length,
    week_began_at: instant(weekAtMs),
    week_calls: weekCalls,
    period_began_at: startsAt,
    period_tokens: periodTokens,
    // Records of a history do not say what they count for.
    counted_before: { week: placeOf(0, weekAtMs), weekCalls, period: placeOf(0, startsAtMs), periodTokens },
  };
  return {
    subscriptions: [subscription],
    plan_slots: slots.map(({ callId, startedAtMs }) => ({
      account_id: id,
      subscription_id: subscriptionId,
      call_id: callId,
      taken_at: instant(startedAtMs),
    })),
  };
}

/** The change log of what the operator did with an account: made it, suspended it, and paid in by hand. */
export function changeRows(demo: NewDemo, { id, account, entries }: Books, { idsAt }: MonthScene): HistoryRow[] {
  const { name, verified, status, status_reason: statusReason } = account;
  const shown = { id, name, verified, status: 'active' };
  const row = (at: unknown, method: string, below: string, action: string, before: object | null, after: object) => {
    const atMs = Date.parse(String(at));
    return {
      id: idsAt(atMs).next(CHANGE_PREFIX),
      begun_at: instant(atMs),
      ended_at: instant(atMs + 12),
      outcome: 'done',
      actor_kind: 'user',
      actor_id: demo.userId,
      actor_name: demo.name,
      subject_kind: 'account',
      subject_id: id,
      account_id: id,
      before,
      after,
      method,
      path: `/admin/v1/accounts${below}`,
      action: `accounts.${action}`,
      client_address: '127.0.0.1',
      request_id: idsAt(atMs).next('req'),
    };
  };
  const rows = [row(account.created_at, 'POST', '', 'create', null, shown)];
  for (const { kind, amount_nano: amountNano, memo, created_at: at } of entries) {
    // Others are charges, or come from vouchers and automatic top-ups.
    if (!/^(invoice|credit)/.test(String(memo))) continue;
    const collection = kind === 'top_up' ? 'top-ups' : 'adjustments';
    const paid = { amountYuan: formatYuan(BigInt(String(amountNano))), memo };
    rows.push(row(at, 'POST', `/:id/${collection}`, `${collection}.create`, shown, paid));
  }
  if (status === 'active') return rows;
  return [
    ...rows,
    row(account.status_changed_at, 'PATCH', '/:id', 'change', shown, { ...shown, status, statusReason }),
  ];
}
