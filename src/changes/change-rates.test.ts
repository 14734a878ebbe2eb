import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Actor } from '../people/actor.ts';
import { CHANGE_RATES, ChangeRates, type CountedChange, countedChange } from './change-rates.ts';

const user: Actor = {
  kind: 'user',
  id: 'usr_1',
  name: 'Lin',
  sessionId: 'ses_1',
  operatorRole: null,
  memberships: [],
  authenticatedAtMs: null,
};
const key: Extract<Actor, { kind: 'api_key' }> = {
  kind: 'api_key',
  id: 'key_1',
  prefix: 'sk-fg-Ab12…',
  accountId: 'acct_1',
  userId: null,
};
const token: Extract<Actor, { kind: 'admin_token' }> = {
  kind: 'admin_token',
  id: 'tok_1',
  name: 'deploy',
  role: 'operator',
  scopes: [],
};

describe('the limits that a change counts against', () => {
  const of = (actor: Actor, { isRemoval = false, isAdmin = false, accountId = 'acct_1' as string | null } = {}) =>
    countedChange(actor, accountId, isRemoval, isAdmin);

  it('are those of its actor and account; keys count as their user, tokens have their own limit', () => {
    assert.deepEqual(of(user), { rate: 'caller', name: 'usr_1', accountId: 'acct_1' });
    assert.deepEqual(of(key), { rate: 'caller', name: 'key_1', accountId: 'acct_1' });
    assert.deepEqual(of({ ...key, userId: 'usr_1' }), of(user));
    assert.deepEqual(of(user, { isAdmin: true, accountId: null }), {
      rate: 'operator',
      name: 'usr_1',
      accountId: null,
    });
    assert.deepEqual(of(token, { isAdmin: true, accountId: null }), { rate: 'token', name: 'tok_1', accountId: null });
    const environment: Actor = { ...token, id: null, name: 'FAREGATE_ADMIN_TOKEN' };
    assert.equal(of(environment, { isAdmin: true, accountId: null })?.name, 'FAREGATE_ADMIN_TOKEN');
    assert.equal(of({ kind: 'command_line' }, { isAdmin: true }), null);
    assert.equal(of({ kind: 'visitor' }), null);
  });

  it('is separate for removals, which do not count for the account', () => {
    assert.deepEqual(of(key, { isRemoval: true }), { rate: 'caller', name: 'key_1 removes', accountId: null });
  });
});

describe('change limits', () => {
  const change = (n: number): CountedChange => ({ rate: 'caller', name: `key_${n}`, accountId: 'acct_1' });
  const { caller, account } = CHANGE_RATES;

  it('allow a burst, then one per interval; refused changes are not counted', () => {
    let nowMs = 1_000;
    const rates = new ChangeRates(() => nowMs);
    for (let n = 0; n < caller.burst; n++) assert.equal(rates.take(change(1)), 0);
    for (let n = 0; n < 3; n++) assert.equal(rates.take(change(1)), caller.everyMs);
    nowMs += caller.everyMs;
    assert.equal(rates.take(change(1)), 0);
    assert.equal(rates.take(change(1)), caller.everyMs);
  });

  it('allow all actors of an account fewer changes than the sum of their own limits', () => {
    const rates = new ChangeRates(() => 1_000);
    const made = Array.from({ length: 10 * caller.burst }, (_, n) => rates.take(change(n % 10)));
    assert.equal(made.filter((waitMs) => waitMs === 0).length, account.burst);
    assert.equal(made.at(-1), account.everyMs);
    assert.equal(rates.take({ ...change(1), accountId: 'acct_2' }), 0);
    // One actor alone never exhausts the account's limit.
    assert.ok(caller.burst < account.burst && caller.everyMs > account.everyMs);
  });
});
