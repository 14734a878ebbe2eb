import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Actor, TokenScope } from './actor.ts';
import { type Grant, grantOfChange, NEW_SIGN_IN_MS, refusalOfGrant } from './grants.ts';

const NOW_MS = 1_000_000_000;
const token = (...scopes: TokenScope[]): Actor => ({
  kind: 'admin_token',
  id: 'tok_1',
  name: 'ci',
  role: 'operator',
  scopes,
});
const operator = (authenticatedAtMs: number | null): Actor => ({
  kind: 'user',
  id: 'usr_1',
  name: 'Lin',
  sessionId: 'ses_1',
  operatorRole: 'operator',
  memberships: [],
  authenticatedAtMs,
});

describe('what opens more than changes', () => {
  const GRANTS: (Grant | null)[] = [null, 'auditor', 'operator', 'export'];
  const cases: [string, Actor, (string | null)[]][] = [
    ['is given by the command line', { kind: 'command_line' }, [null, null, null, null]],
    ['is not given by a token', token(), [null, 'by_token', 'by_token', 'by_token']],
    ['is given by a token that has it', token('export'), [null, 'by_token', 'by_token', null]],
    ['is given by a person who has just signed in', operator(NOW_MS - NEW_SIGN_IN_MS + 1), [null, null, null, null]],
    [
      'is not given by an old session',
      operator(NOW_MS - NEW_SIGN_IN_MS),
      [null, null, 'sign_in_again', 'sign_in_again'],
    ],
    ['is not given by one of unknown age', operator(null), [null, null, 'sign_in_again', 'sign_in_again']],
  ];
  for (const [name, actor, expected] of cases) {
    it(name, () => {
      const refusals = GRANTS.map((grant) => refusalOfGrant(actor, grant, NOW_MS));
      assert.deepEqual(refusals, expected);
    });
  }
});

describe('a change of a user', () => {
  const user = { name: 'Lin', email: 'lin@people.example', operatorRole: 'operator', status: 'active' } as const;
  const cases: [
    string,
    Partial<Parameters<typeof grantOfChange>[0]>,
    Partial<Parameters<typeof grantOfChange>[0]>,
    Grant | null,
  ][] = [
    ['gives the role that is new', { operatorRole: null }, { operatorRole: 'operator' }, 'operator'],
    ['gives the higher role', { operatorRole: 'auditor' }, { operatorRole: 'operator' }, 'operator'],
    ['gives nothing by a lower one', {}, { operatorRole: 'auditor' }, null],
    ['gives nothing by none', {}, { operatorRole: null }, null],
    ['gives nothing by a suspension', {}, { status: 'suspended' }, null],
    ['gives the role back to who was suspended', { status: 'suspended' }, {}, 'operator'],
    ['gives the role to whoever has the new address', {}, { email: 'mallory@people.example' }, 'operator'],
    ['gives nothing by a name that nobody signs in with', {}, { name: 'Wei' }, null],
    ['gives the role to whoever has the new name', { email: null }, { email: null, name: 'Wei' }, 'operator'],
    [
      'gives nothing to a person without a role',
      { operatorRole: null },
      { operatorRole: null, email: 'x@y.example' },
      null,
    ],
  ];
  for (const [name, before, after, expected] of cases) {
    it(name, () => assert.equal(grantOfChange({ ...user, ...before }, { ...user, ...after }), expected));
  }
});
