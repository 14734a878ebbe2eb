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
      'an operator token may do all except what requires a signed-in person',
      token('operator'),
      [null, null, 'no_person', 'no_export'],
    ],
    ['a token with the scope export may export', token('auditor', 'export'), [null, 'role', 'role', null]],
    [
      'a token with only that scope may do nothing else',
      token(null, 'export'),
      ['no_role', 'no_role', 'no_role', null],
    ],
    ['a signed-in operator may do everything', user('operator'), [null, null, null, null]],
    ['an auditor token reads', token('auditor'), [null, 'role', 'role', 'no_export']],
    ['a signed-in auditor reads', user('auditor'), [null, 'role', 'role', 'role']],
    ['an owner has no operator rights', OWNER, ['no_operator', 'no_operator', 'no_operator', 'no_operator']],
    ['a key has no operator rights', KEY, ['no_operator', 'no_operator', 'no_operator', 'no_operator']],
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
  it('has no higher role than its creator', () => {
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
    ['a key does nothing that requires a signed-in person', KEY, null, 'person', { reason: 'no_person' }],
    [
      'a personal key sees what a member sees',
      KEY_OF_PERSON,
      null,
      'member',
      { accountId: 'acct_1', role: 'member', ownUserId: 'usr_1' },
    ],
    ['a personal key manages nothing', KEY_OF_PERSON, null, 'owner', { reason: 'role' }],
    ['a personal key does not count as signed in', KEY_OF_PERSON, null, 'person', { reason: 'no_person' }],
    ['a member sees its own keys', MEMBER, null, 'member', { accountId: 'acct_1', role: 'member', ownUserId: 'usr_1' }],
    ['a member manages nothing', MEMBER, null, 'owner', { reason: 'role' }],
    ['a member reaches no other account', MEMBER, 'acct_2', 'member', { reason: 'other_account' }],
    [
      'a user with two accounts must name one',
      BOTH,
      null,
      'member',
      { reason: 'which_account', accountIds: ['acct_1', 'acct_2'] },
    ],
    [
      'an owner of one account may be a member of another',
      BOTH,
      'acct_2',
      'member',
      { accountId: 'acct_2', role: 'member', ownUserId: 'usr_1' },
    ],
    ['an owner of one account manages nothing in another', BOTH, 'acct_2', 'owner', { reason: 'role' }],
    ['an operator role gives access to no account', user('operator'), null, 'member', { reason: 'no_account' }],
    ['an admin token has no account', token('operator'), 'acct_1', 'member', { reason: 'no_account' }],
    ['the command line has no account', COMMAND_LINE, 'acct_1', 'member', { reason: 'no_account' }],
  ];
  for (const [name, actor, asked, need, expected] of cases) {
    it(name, () => assert.deepEqual(scopeOf(actor, asked, need), expected));
  }
});
