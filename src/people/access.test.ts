import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type AccountNeed, type AdminNeed, mayGrantRole, refusalOfAdmin, scopeOf } from './access.ts';
import type { Actor, Membership, OperatorRole, TokenScope } from './actor.ts';

const COMMAND_LINE: Actor = { kind: 'command_line' };
const KEY: Actor = { kind: 'api_key', id: 'key_1', prefix: 'sk-fg-1', accountId: 'acct_1', userId: null };
const KEY_OF_PERSON: Actor = { ...KEY, userId: 'usr_1' };

const token = (role: OperatorRole | null, ...scopes: TokenScope[]): Actor => ({
  kind: 'admin_token',
  id: null,
  name: 'ci',
  role,
  scopes,
});

function user(operatorRole: OperatorRole | null, ...memberships: Membership[]): Actor {
  return {
    kind: 'user',
    id: 'usr_1',
    name: 'Lin',
    sessionId: 'ses_1',
    operatorRole,
    memberships,
    authenticatedAtMs: null,
  };
}

const OWNER = user(null, { accountId: 'acct_1', role: 'owner' });
const MEMBER = user(null, { accountId: 'acct_1', role: 'member' });
const BOTH = user(null, { accountId: 'acct_1', role: 'owner' }, { accountId: 'acct_2', role: 'member' });

describe('the admin API', () => {
  const NEEDS: AdminNeed[] = ['read', 'change', 'operator_person', 'export'];
  const cases: [string, Actor, (string | null)[]][] = [
    ['the command line may do everything', COMMAND_LINE, [null, null, null, null]],
    [
      'a token of an operator may do all but what is for persons',
      token('operator'),
      [null, null, 'no_person', 'no_export'],
    ],
    ['a token with that scope may export', token('auditor', 'export'), [null, 'role', 'role', null]],
    ['a token with nothing else may do nothing else', token(null, 'export'), ['no_role', 'no_role', 'no_role', null]],
    ['a person who is an operator may do everything', user('operator'), [null, null, null, null]],
    ['an auditor reads', token('auditor'), [null, 'role', 'role', 'no_export']],
    ['a person who is an auditor reads', user('auditor'), [null, 'role', 'role', 'role']],
    ['an owner is no operator', OWNER, ['no_operator', 'no_operator', 'no_operator', 'no_operator']],
    ['a key is no operator', KEY, ['no_operator', 'no_operator', 'no_operator', 'no_operator']],
  ];
  for (const [name, actor, expected] of cases) {
    it(name, () => {
      assert.deepEqual(
        NEEDS.map((need) => refusalOfAdmin(actor, need)),
        expected,
      );
    });
  }
});

describe('a new token', () => {
  it('has no role above that of whoever makes it', () => {
    const makers = [COMMAND_LINE, token('operator'), user('operator'), token('auditor'), user('auditor'), OWNER, KEY];
    const allowed = (role: OperatorRole) => makers.map((maker) => mayGrantRole(maker, role));
    assert.deepEqual(allowed('operator'), [true, true, true, false, false, false, false]);
    assert.deepEqual(allowed('auditor'), [true, true, true, true, true, false, false]);
  });
});

describe('the account API', () => {
  const wholeAccount = { accountId: 'acct_1', role: 'owner', ownUserId: null };
  const cases: [string, Actor, string | null, AccountNeed, object][] = [
    ['an owner sees the whole account', OWNER, null, 'person', wholeAccount],
    ['a key sees its account', KEY, null, 'owner', wholeAccount],
    ['a key may name its account', KEY, 'acct_1', 'member', wholeAccount],
    ['a key reaches no other account', KEY, 'acct_2', 'member', { reason: 'other_account' }],
    ['a key does not do what is for persons', KEY, null, 'person', { reason: 'no_person' }],
    [
      'a key of a person sees what a member sees',
      KEY_OF_PERSON,
      null,
      'member',
      { accountId: 'acct_1', role: 'member', ownUserId: 'usr_1' },
    ],
    ['a key of a person manages nothing', KEY_OF_PERSON, null, 'owner', { reason: 'role' }],
    ['a key of a person is no person', KEY_OF_PERSON, null, 'person', { reason: 'no_person' }],
    ['a member sees its own keys', MEMBER, null, 'member', { accountId: 'acct_1', role: 'member', ownUserId: 'usr_1' }],
    ['a member manages nothing', MEMBER, null, 'owner', { reason: 'role' }],
    ['a member reaches no other account', MEMBER, 'acct_2', 'member', { reason: 'other_account' }],
    [
      'who has two accounts names one',
      BOTH,
      null,
      'member',
      { reason: 'which_account', accountIds: ['acct_1', 'acct_2'] },
    ],
    [
      'an owner here is a member there',
      BOTH,
      'acct_2',
      'member',
      { accountId: 'acct_2', role: 'member', ownUserId: 'usr_1' },
    ],
    ['an owner here manages nothing there', BOTH, 'acct_2', 'owner', { reason: 'role' }],
    ['an operator has no account by that', user('operator'), null, 'member', { reason: 'no_account' }],
    ['an admin token has no account', token('operator'), 'acct_1', 'member', { reason: 'no_account' }],
    ['the command line has no account', COMMAND_LINE, 'acct_1', 'member', { reason: 'no_account' }],
  ];
  for (const [name, actor, asked, need, expected] of cases) {
    it(name, () => assert.deepEqual(scopeOf(actor, asked, need), expected));
  }
});
