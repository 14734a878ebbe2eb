import assert from 'node:assert/strict';
import type { AccountRole } from '../../src/people/actor.ts';
import { call } from '../support/client.ts';
import { ADMIN_TOKEN, type TestGateway } from '../support/gateway.ts';
import { ask, createPerson, signIn } from '../support/people.ts';
import { until } from '../support/until.ts';
import type { RoleName } from './roles.ts';

/** A key of a user or account, and a call made with it. */
export interface Owned {
  readonly id: string;
  readonly name: string;
  readonly keyId: string;
  readonly prefix: string;
  readonly callId: string;
}

/** Two accounts; the first has two members, each with a key, a call and a refusal. */
export interface Scene {
  readonly account: { readonly id: string; readonly name: string };
  readonly lin: Owned;
  readonly mo: Owned;
  readonly other: Owned;
  /** Of the other account: a member, an invitation, a webhook endpoint and a top-up. */
  readonly otherUserId: string;
  readonly otherInvitationId: string;
  readonly otherWebhookId: string;
  readonly otherTopUpId: string;
  readonly headers: Readonly<Record<RoleName, Record<string, string>>>;
}

const hello = { model: 'test-chat', messages: [{ role: 'user', content: 'Hello' }] };
const BOTH = ['calls', 'account'];

export async function peopleOfWalk(g: TestGateway): Promise<Scene> {
  const bearer = (key: string) => ({ authorization: `Bearer ${key}` });

  async function makeAccount(name: string): Promise<{ id: string; name: string }> {
    const made = await g.admin('POST', '/accounts', { name, verified: true, balanceYuan: '100' });
    assert.equal(made.status, 201);
    return { id: made.body.id, name };
  }

  async function makeKey(accountId: string, scopes: readonly string[], userId: string | null = null) {
    const made = await g.admin('POST', `/accounts/${accountId}/keys`, { name: `key of ${userId}`, scopes, userId });
    assert.equal(made.status, 201, JSON.stringify(made.body));
    const { id, key, prefix } = made.body as { id: string; key: string; prefix: string };
    return { id, key, prefix };
  }

  async function owned(id: string, name: string, accountId: string, userId: string | null) {
    const key = await makeKey(accountId, BOTH, userId);
    assert.equal((await call(`${g.url}/v1/chat/completions`, key.key, hello)).status, 200);
    const response = await call(
      `${g.url}/v1/chat/completions`,
      key.key,
      { ...hello, model: `nowhere of ${id}` },
      {
        headers: { 'x-client-request-id': 'shared-by-all' },
      },
    );
    assert.equal(response.status, 404);
    const calls = () => g.admin('GET', `/calls?keyId=${key.id}`);
    await until(async () => (await calls()).body.data.length === 1);
    const callId: string = (await calls()).body.data[0].id;
    return { key: key.key, owned: { id, name, keyId: key.id, prefix: key.prefix, callId } };
  }

  const makeToken = async (name: string, given: object) => {
    const authorization = `Bearer ${g.localToken}`;
    const made = await g.admin('POST', '/tokens', { name, ...given }, { authorization });
    assert.equal(made.status, 201, JSON.stringify(made.body));
    return made.body as { id: string; token: string };
  };

  const account = await makeAccount('The first account');
  const otherAccount = await makeAccount('Quite another account');
  const whole = await makeKey(account.id, BOTH);
  const personOf = (name: string, accountId: string, role: AccountRole) =>
    createPerson(g, { name, memberships: [{ accountId, role }] });
  const linHerself = await personOf('Lin', account.id, 'member');
  const moHimself = await personOf('Mo', account.id, 'member');
  const lin = await owned(linHerself.id, 'Lin', account.id, linHerself.id);
  const mo = await owned(moHimself.id, 'Mo', account.id, moHimself.id);
  const other = await owned(otherAccount.id, otherAccount.name, otherAccount.id, null);
  const forCalls = await makeKey(account.id, ['calls']);
  const revokedKey = await makeKey(account.id, BOTH);
  await g.admin('DELETE', `/keys/${revokedKey.id}`);
  const operator = await makeToken('operator', { role: 'operator' });
  const auditor = await makeToken('auditor', { role: 'auditor' });
  const forExports = await makeToken('exports', { scopes: ['export'] });
  const revokedToken = await makeToken('revoked', { role: 'operator' });
  await g.admin('DELETE', `/tokens/${revokedToken.id}`);

  const owner = await personOf('Ada', account.id, 'owner');
  const otherOwner = await personOf('Bo', otherAccount.id, 'owner');
  const otherMember = await personOf('Cy', otherAccount.id, 'member');
  const invitation = await ask(g, 'POST', '/invitations', { email: 'dee@people.example' }, otherOwner.headers);
  assert.equal(invitation.status, 201, JSON.stringify(invitation.body));
  const webhook = await ask(g, 'POST', '/webhooks', { url: 'https://receiver.example/' }, otherOwner.headers);
  assert.equal(webhook.status, 201, JSON.stringify(webhook.body));
  const ended = await signIn(g, owner);
  assert.equal((await ask(g, 'DELETE', '/session', undefined, ended)).status, 204);
  const suspended = await personOf('Eve', account.id, 'owner');
  assert.equal((await g.admin('PATCH', `/users/${suspended.id}`, { status: 'suspended' })).status, 200);
  const gone = await personOf('Flo', account.id, 'member');
  const keyOfGone = await makeKey(account.id, BOTH, gone.id);
  const removed = await g.admin('DELETE', `/accounts/${account.id}/members?userId=${gone.id}`);
  assert.equal(removed.status, 204);
  const operatorUser = await createPerson(g, { name: 'Gus', operatorRole: 'operator' });
  const auditorUser = await createPerson(g, { name: 'Hal', operatorRole: 'auditor' });

  return {
    account,
    otherUserId: otherMember.id,
    otherInvitationId: invitation.body.id,
    otherWebhookId: webhook.body.id,
    otherTopUpId: `le_${otherAccount.id.replace('acct_', '')}_1`,
    lin: lin.owned,
    mo: mo.owned,
    other: other.owned,
    headers: {
      'no credential': {},
      'a wrong token': bearer('not-a-token-of-anybody'),
      'an unknown key': bearer(unknownOf(whole.key)),
      'the operator of the environment': bearer(ADMIN_TOKEN),
      'the command line': bearer('token-of-the-command-line'),
      'an operator’s token': bearer(operator.token),
      'an auditor’s token': bearer(auditor.token),
      'a token for exports': bearer(forExports.token),
      'a revoked token': bearer(revokedToken.token),
      'a key of the account': bearer(whole.key),
      'a key of a member': bearer(lin.key),
      'a key for calls': bearer(forCalls.key),
      'a revoked key': bearer(revokedKey.key),
      'a key of another account': bearer(other.key),
      'a key of somebody who left': bearer(keyOfGone.key),
      'an operator who signed in': operatorUser.headers,
      'an auditor who signed in': auditorUser.headers,
      'an owner': owner.headers,
      'a member': linHerself.headers,
      'an owner of another account': otherOwner.headers,
      'a member of another account': otherMember.headers,
      'a session that was ended': ended,
      'a suspended user': suspended.headers,
    },
  };
}

/** A text that resembles a key. */
function unknownOf(key: string): string {
  return `${key.slice(0, -6)}abcdef`;
}
