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

describe('a right', () => {
  const GRANTS: (Grant | null)[] = [null, 'auditor', 'operator', 'export'];
  const cases: [string, Actor, (string | null)[]][] = [
    ['is granted by the command line', { kind: 'command_line' }, [null, null, null, null]],
    ['is not granted by a token', token(), [null, 'by_token', 'by_token', 'by_token']],
    ['export is granted by a token with that scope', token('export'), [null, 'by_token', 'by_token', null]],
    ['is granted by a person who has just signed in', operator(NOW_MS - NEW_SIGN_IN_MS + 1), [null, null, null, null]],
    [
      'of an operator is not granted by an old session',
      operator(NOW_MS - NEW_SIGN_IN_MS),
      [null, null, 'sign_in_again', 'sign_in_again'],
    ],
    [
      'of an operator is not granted by a session of unknown age',
      operator(null),
      [null, null, 'sign_in_again', 'sign_in_again'],
    ],
  ];
  for (const [name, actor, expected] of cases) {
    it(name, () => {
      const refusals = GRANTS.map((grant) => refusalOfGrant(actor, grant, NOW_MS));
      assert.deepEqual(refusals, expected);
    });
  }
});

describe('a change of a user grants', () => {
  const user = { name: 'Lin', email: 'lin@people.example', operatorRole: 'operator', status: 'active' } as const;
  const cases: [
    string,
    Partial<Parameters<typeof grantOfChange>[0]>,
    Partial<Parameters<typeof grantOfChange>[0]>,
    Grant | null,
  ][] = [
    ['a new role', { operatorRole: null }, { operatorRole: 'operator' }, 'operator'],
    ['a higher role', { operatorRole: 'auditor' }, { operatorRole: 'operator' }, 'operator'],
    ['nothing with a lower role', {}, { operatorRole: 'auditor' }, null],
    ['nothing when the role is taken away', {}, { operatorRole: null }, null],
    ['nothing with a suspension', {}, { status: 'suspended' }, null],
    ['the role again when a suspension ends', { status: 'suspended' }, {}, 'operator'],
    ['the role to the owner of a new e-mail address', {}, { email: 'mallory@people.example' }, 'operator'],
    ['nothing with a name that is not used to sign in', {}, { name: 'Wei' }, null],
    ['the role to the user of a new sign-in name', { email: null }, { email: null, name: 'Wei' }, 'operator'],
    ['nothing to a user without a role', { operatorRole: null }, { operatorRole: null, email: 'x@y.example' }, null],
  ];
  for (const [name, before, after, expected] of cases) {
    it(name, () => assert.equal(grantOfChange({ ...user, ...before }, { ...user, ...after }), expected));
  }
});
