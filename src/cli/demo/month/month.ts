import { type CallOutcome, callIdOf } from '../../../accounting/calls/call-outcome.ts';
import type { History, LostOutcome } from '../../../accounting/history/history-store.ts';
import { subscriptionRows } from '../../../accounting/history/subscription-rows.ts';
import { periodMsOf } from '../../../accounting/plans/plan.ts';
import { createVoucherCode, storedVoucher } from '../../../accounting/vouchers/voucher-code.ts';
import { CHANGE_PREFIX } from '../../../changes/audit-log.ts';
import { playAccount, type Voucher } from './account-month.ts';
import { ACCOUNTS, type AccountLife, KEYS, MONTH_DAYS, PEOPLE, PLAN_DAY, UNRESOLVED_DAYS, VOUCHERS } from './lives.ts';
import { createScene, DAY_MS, type DemoDependencies, nanoOf, type Scene } from './scene.ts';

type PlayedAccount = ReturnType<typeof playAccount>;

/** Returns the start of a month that ends now. At that time, the demo's account was created. */
export const monthStartMs = (nowMs: number): number => nowMs - MONTH_DAYS * DAY_MS;

export function makeBareDemo(dependencies: DemoDependencies): History {
  const scene = createScene(dependencies, dependencies.nowMs);
  const accounts = ACCOUNTS.slice(0, 1).map((life) => playAccount(life, KEYS.slice(0, 1), [], scene));
  addPeople(PEOPLE.slice(0, 1), accounts, scene);
  return { rows: scene.rows, outcomes: [], unresolved: [] };
}

export function makeMonth(dependencies: DemoDependencies): History {
  const scene = createScene(dependencies, monthStartMs(dependencies.nowMs));
  const vouchers = addVouchers(scene);
  const keysOf = ({ name }: AccountLife) => KEYS.filter(({ account }) => account === name);
  const accounts = ACCOUNTS.map((life) => playAccount(life, keysOf(life), vouchers, scene));
  addPeople(PEOPLE, accounts, scene);
  for (const account of accounts) addCreation(account, scene);
  const outcomes = accounts
    .flatMap(({ calls }) => calls)
    .toSorted((left, right) => left.startedAtMs - right.startedAtMs);
  addPlan(outcomes, scene);
  return { rows: scene.rows, outcomes, unresolved: UNRESOLVED_DAYS.map((day) => lostCall(outcomes, day, scene)) };
}

function addPeople(people: typeof PEOPLE, accounts: readonly PlayedAccount[], scene: Scene): void {
  const { add, atDay, demo, idAt, passwordHash } = scene;
  for (const { name, email, day, operatorRole = null, account, role = null } of people) {
    const createdAtMs = atDay(day);
    const secrets =
      name === demo.name ? { id: demo.userId, passwordHash } : { id: idAt('usr', createdAtMs), passwordHash: null };
    add('users', { ...secrets, name, email, signInName: email ?? name, operatorRole, status: 'active', createdAtMs });
    const member = accounts.find(({ life }) => life.name === account);
    if (member) add('memberships', { userId: secrets.id, accountId: member.accountId, role, createdAtMs });
  }
}

/** Adds the row of the audit log for an account that the operator created. */
function addCreation({ accountId, life }: PlayedAccount, { add, atDay, demo, idAt }: Scene): void {
  const atMs = atDay(life.day);
  const after = { id: accountId, name: life.name };
  const change = { action: 'accounts.create', subjectKind: 'account', subjectId: accountId, accountId, after };
  const actor = { actorKind: 'user', actorId: demo.userId, actorName: demo.name };
  const request = { method: 'POST', path: '/admin/v1/accounts', clientAddress: '127.0.0.1' };
  const end = { begunAtMs: atMs, endedAtMs: atMs, outcome: 'done' };
  add('changes', { id: idAt(CHANGE_PREFIX, atMs), ...change, ...actor, ...request, ...end });
}

/** Adds a batch of vouchers. The codes of those that are not redeemed are not kept. */
function addVouchers({ add, atDay, demo, idAt, fillRandom }: Scene): Voucher[] {
  const { name, yuan, count, day, endsDay } = VOUCHERS;
  const batchId = idAt('vb', atDay(day));
  const gift = { amountNano: nanoOf(yuan), voucherCount: count, expiresAtMs: atDay(endsDay) };
  add('voucher_batches', { id: batchId, name, ...gift, createdAtMs: atDay(day), createdBy: demo.name });
  const vouchers = Array.from({ length: count }, () => ({ ...storedVoucher(createVoucherCode(fillRandom)), batchId }));
  for (const voucher of vouchers) add('vouchers', voucher);
  return vouchers;
}

function addPlan(calls: readonly CallOutcome[], { add, atDay, config, demo, idAt, nowMs, planId }: Scene): void {
  const startsAtMs = atDay(PLAN_DAY);
  const endsAtMs = startsAtMs + periodMsOf(config.plans[planId]!);
  const first = { accountId: demo.accountId, id: idAt('sub', startsAtMs), planId, startsAtMs, endsAtMs };
  const { subscription, slots } = subscriptionRows(first, calls, nowMs);
  add('subscriptions', subscription);
  for (const slot of slots) add('plan_slots', slot);
}

/** Creates a call whose node died, from another call. */
function lostCall(calls: readonly CallOutcome[], day: number, { atDay, idAt }: Scene): LostOutcome {
  const like = calls.find(({ context, startedAtMs }) => context === 'balance' && startedAtMs > atDay(day))!;
  const requestId = idAt('req', like.startedAtMs);
  return { ...like, requestId, callId: callIdOf(requestId), reservedNano: 412_000_000n };
}
