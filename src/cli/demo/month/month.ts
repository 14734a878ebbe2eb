import type { CallOutcome } from '../../../accounting/calls/call-outcome.ts';
import { beganAtMs } from '../../../accounting/counts/counted-since.ts';
import { placeOf } from '../../../accounting/counts/counted-use.ts';
import type { History, HistoryRow } from '../../../accounting/history/history-store.ts';
import {
  createVoucherCode,
  hashVoucherCode,
  readVoucherCode,
  shownEnd,
} from '../../../accounting/vouchers/voucher-code.ts';
import { CHANGE_PREFIX } from '../../../changes/change-log.ts';
import { totalTokens } from '../../../protocols/metering/usage-facts.ts';
import { playAccount } from './account-month.ts';
import { ACCOUNTS, type AccountLife, BARE, MONTH_DAYS, PEOPLE, PLAN_DAY, VOUCHERS } from './lives.ts';
import { createScene, DAY_MS, type DemoParts, HOUR_MS, hex, instant, nanoText, type Scene } from './scene.ts';

/** When the demo's account was made, for a month that ends now. */
export const monthStartMs = (nowMs: number): number => nowMs - MONTH_DAYS * DAY_MS;

/** Only the demo's account with its key, its balance and its operator. */
export function makeBareDemo(parts: DemoParts): History {
  const scene = createScene(parts, parts.nowMs);
  playAccount(BARE, scene, []);
  addOperator(scene);
  return { rows: scene.rows, outcomes: [] };
}

/** A month of life in a gateway: the demo's account and its operator, and others whom the operator looks after. */
export function makeMonth(parts: DemoParts): History {
  const scene = createScene(parts, monthStartMs(parts.nowMs));
  const { atDay, idAt } = scene;
  const vouchers = addVouchers(scene);
  const accounts = ACCOUNTS.map((life) => playAccount(life, scene, vouchers));
  addOperator(scene);
  for (const { name, email, day, account, role } of PEOPLE) {
    const member = accounts.find(({ life }) => life.name === account);
    const user = { id: idAt('usr', atDay(day)), name, email, operator_role: member === undefined ? role : null };
    addUser(user, member && { account_id: member.accountId, role }, atDay(day), scene);
  }
  for (const { accountId, life } of accounts) addCreation(accountId, life, scene);
  addPlan(accounts[0]!.calls, scene);
  for (const day of [18, 27]) {
    addUnresolved(accounts[1]!.calls.find(({ endedAtMs }) => endedAtMs > atDay(day))!, scene);
  }
  return { rows: scene.rows, outcomes: accounts.flatMap(({ calls }) => calls) };
}

/** The person who has started the demo: operator, and owner of the demo's account. */
function addOperator(scene: Scene): void {
  const { userId: id, name, accountId } = scene.demo;
  const user = { id, name, email: null, operator_role: 'operator', password_hash: scene.passwordHash };
  addUser(user, { account_id: accountId, role: 'owner' }, scene.atDay(0), scene);
}

/** Whoever has no password was invited, and has not signed in yet. */
function addUser(user: HistoryRow, membership: HistoryRow | undefined, atMs: number, { add }: Scene): void {
  const created = { created_at: instant(atMs) };
  add('users', { password_hash: null, ...user, sign_in_name: user.email ?? user.name!, status: 'active', ...created });
  if (membership !== undefined) add('memberships', { ...membership, user_id: user.id!, ...created });
}

/** What the change log says of an account that the operator has made. */
function addCreation(id: string, { day, name }: AccountLife, { add, atDay, demo, idAt }: Scene): void {
  const at = instant(atDay(day));
  const request = { method: 'POST', path: '/admin/v1/accounts', client_address: '127.0.0.1' };
  const actor = { actor_kind: 'user', actor_id: demo.userId, actor_name: demo.name };
  const change = {
    action: 'accounts.create',
    subject_kind: 'account',
    subject_id: id,
    account_id: id,
    after: { id, name },
  };
  const end = { begun_at: at, ended_at: at, outcome: 'done' };
  add('changes', { id: idAt(CHANGE_PREFIX, atDay(day)), ...change, ...end, ...actor, ...request });
}

/** A batch of vouchers. Nobody has the codes of those that are not redeemed. */
function addVouchers({ add, atDay, idAt, fillRandom }: Scene): HistoryRow[] {
  const { name, count, day, endsDay } = VOUCHERS;
  const id = idAt('vb', atDay(day));
  const batch = { id, name, amount_nano: nanoText(VOUCHERS.yuan), voucher_count: count };
  const [created, expires] = [instant(atDay(day)), instant(atDay(endsDay))];
  add('voucher_batches', { ...batch, created_at: created, created_by: 'demo', expires_at: expires });
  const vouchers = Array.from({ length: count }, () => {
    const code = readVoucherCode(createVoucherCode(fillRandom))!;
    return { code_hash: hex(hashVoucherCode(code)), batch_id: id, code_end: shownEnd(code) };
  });
  for (const voucher of vouchers) add('vouchers', voucher);
  return vouchers;
}

/** The plan of the demo. Records of a history do not say what they count for, so it says what was counted before. */
function addPlan(calls: readonly CallOutcome[], scene: Scene): void {
  const { add, atDay, config, demo, idAt, nowMs, planId } = scene;
  const startsMs = atDay(PLAN_DAY);
  const weekMs = beganAtMs(startsMs, 7 * DAY_MS, nowMs);
  // A call whose success has begun keeps its slot.
  const counted = calls.filter(({ context, usage }) => context === 'coding' && usage !== null);
  const slots = counted.filter(({ startedAtMs }) => startedAtMs > nowMs - 5 * HOUR_MS);
  const weekCalls = counted.filter(({ startedAtMs }) => startedAtMs >= weekMs).length;
  const periodTokens = counted.reduce((sum, { usage }) => sum + totalTokens(usage!), 0);
  const { accountId } = demo;
  const id = idAt('sub', startsMs);
  const startsAt = instant(startsMs);
  add('subscriptions', {
    account_id: accountId,
    id,
    plan_id: planId,
    starts_at: startsAt,
    created_at: startsAt,
    ends_at: instant(startsMs + config.plans[planId]!.periodDays * DAY_MS),
    slots: slots.length,
    week_began_at: instant(weekMs),
    week_calls: weekCalls,
    period_began_at: startsAt,
    period_tokens: periodTokens,
    counted_before: { week: placeOf(0, weekMs), weekCalls, period: placeOf(0, startsMs), periodTokens },
  });
  for (const { callId, startedAtMs } of slots) {
    add('plan_slots', { account_id: accountId, subscription_id: id, call_id: callId, taken_at: instant(startedAtMs) });
  }
}

/** A call like another one, whose node died. */
function addUnresolved(like: CallOutcome, { add, idAt }: Scene): void {
  const { accountId, keyId, context, operation, model, provider, providerModel, isStream, startedAtMs } = like;
  const of = {
    account_id: accountId,
    key_id: keyId,
    context,
    operation,
    model,
    provider,
    provider_model: providerModel,
  };
  const ids = { id: idAt('call', startedAtMs), request_id: idAt('req', startedAtMs) };
  const times = { started_at: instant(startedAtMs), ended_at: instant(like.endedAtMs) };
  const end = { status: 'unresolved', error_code: 'call_unresolved', reserved_nano: '412000000', price_rule: 'base' };
  const units = ['input', 'cached_input', 'cache_write', 'cache_write_1h', 'output', 'reasoning'];
  const used = Object.fromEntries(units.map((unit) => [`${unit}_tokens`, 0]));
  add('calls', { ...ids, ...of, ...times, ...end, ...used, is_stream: isStream });
}
