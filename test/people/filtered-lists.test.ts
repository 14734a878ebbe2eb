import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { call } from '../support/client.ts';
import { ADMIN_TOKEN, startGateway, type TestAccount, type TestGateway } from '../support/gateway.ts';
import { ask, createPerson, type TestPerson } from '../support/people.ts';
import { until } from '../support/until.ts';

/** Filters of lists of calls, refusals, ledger entries and changes, by role, as JSON and CSV. */

const OPERATOR = { authorization: `Bearer ${ADMIN_TOKEN}` };
const CHAT = '/v1/chat/completions';
const hello = (model: string) => ({ model, messages: [{ role: 'user', content: 'Hello' }] });

describe('filtered lists', () => {
  let g: TestGateway;
  let account: TestAccount;
  let owner: TestPerson;
  let member: TestPerson;
  /** The member's key; `account.keyId` is the account's. */
  let keyId: string;
  before(async () => {
    g = await startGateway();
    account = await g.createAccount();
    owner = await createPerson(g, { name: 'Ada', memberships: [{ accountId: account.id, role: 'owner' }] });
    member = await createPerson(g, { name: 'Lin', memberships: [{ accountId: account.id, role: 'member' }] });
    const made = await ask(g, 'POST', '/keys', { name: '=1+1' }, member.headers);
    keyId = made.body.id;
    for (const key of [account.key, made.body.key]) {
      assert.equal((await call(g.url + CHAT, key, hello('test-chat'))).status, 200);
      assert.equal((await call(g.url + CHAT, key, hello('nothing-like-it'))).status, 404);
    }
    await account.endedCall(2);
    await until(async () => (await listed(owner, '/refusals')).length === 2);
    await g.admin('POST', `/accounts/${account.id}/top-ups`, { amountYuan: '1', memo: 'for "them", later' });
  });
  after(() => g?.stop());

  // biome-ignore lint/suspicious/noExplicitAny: tests read what they expect to be there
  async function listed({ headers }: TestPerson, path: string): Promise<any[]> {
    const { status, body } = await ask(g, 'GET', path, undefined, headers);
    assert.equal(status, 200, JSON.stringify(body));
    return body.data;
  }
  // biome-ignore lint/suspicious/noExplicitAny: as above
  const byOperator = async (path: string): Promise<any[]> => (await g.admin('GET', path)).body.data;
  const keysOf = (items: readonly { readonly keyId: string }[]) => items.map((item) => item.keyId);

  it('of refusals show the key’s name and the request id to accounts and operators', async () => {
    for (const refusals of [await listed(owner, '/refusals'), await byOperator(`/refusals?accountId=${account.id}`)]) {
      assert.deepEqual(
        refusals.map(({ keyId, keyName }) => [keyId, keyName]),
        [
          [keyId, '=1+1'],
          [account.keyId, 'test'],
        ],
      );
      for (const { id } of refusals) assert.match(id, /^req_/);
    }
  });

  it('of a member contain only their own keys, whatever key or user is requested', async () => {
    for (const list of ['/calls', '/refusals']) {
      for (const [query, expected] of [
        ['', [keyId]],
        [`?userId=${member.id}`, [keyId]],
        [`?keyId=${keyId}`, [keyId]],
        [`?userId=${owner.id}`, []],
        [`?keyId=${account.keyId}`, []],
      ] as const) {
        assert.deepEqual(keysOf(await listed(member, list + query)), expected, list + query);
      }
    }
  });

  it('of owners and operators can be filtered by the key’s owner, by key and by model', async () => {
    for (const list of ['/calls', '/refusals']) {
      const model = list === '/calls' ? 'test-chat' : 'nothing-like-it';
      for (const [query, expected] of [
        [`userId=${member.id}`, [keyId]],
        [`userId=${member.id}&keyId=${account.keyId}`, []],
        [`userId=${owner.id}`, []],
        [`keyId=${account.keyId}`, [account.keyId]],
        [`model=${model}`, [keyId, account.keyId]],
        ['model=another', []],
      ] as const) {
        assert.deepEqual(keysOf(await listed(owner, `${list}?${query}`)), expected, `${list}?${query}`);
        const asked = `${list}?accountId=${account.id}&${query}`;
        assert.deepEqual(keysOf(await byOperator(asked)), expected, asked);
      }
      const { status, body } = await g.admin('GET', `${list}?userId=${member.id}`);
      assert.deepEqual([status, body.error.param], [400, 'userId']);
    }
  });

  it('of ledger entries can be filtered by kind and time', async () => {
    const amounts = async (query: string): Promise<string[]> =>
      (await listed(owner, `/ledger?${query}`)).map(({ amountYuan }) => amountYuan);
    assert.deepEqual(await amounts('kind=top_up'), ['1', '100']);
    assert.deepEqual(await amounts('kind=top_up&limit=1'), ['1']);
    assert.equal((await amounts('kind=charge')).length, 2);
    assert.deepEqual(await amounts('to=2026-01-01T00:00:00Z'), []);
    assert.equal((await amounts('from=2026-01-01T00:00:00Z')).length, 4);
    const page = await ask(g, 'GET', '/ledger?kind=top_up&limit=1', undefined, owner.headers);
    assert.deepEqual(await amounts(`kind=top_up&limit=1&cursor=${page.body.nextCursor}`), ['100']);
  });

  it('are the same as CSV, without columns for operators', async () => {
    for (const [path, headers, isOwn] of [
      [`/calls?keyId=${keyId}`, owner.headers, true],
      ['/refusals?code=model_not_found', owner.headers, true],
      ['/ledger?kind=top_up', owner.headers, true],
      [`/admin/v1/calls?accountId=${account.id}`, OPERATOR, false],
      [`/admin/v1/refusals?accountId=${account.id}&model=nothing-like-it`, OPERATOR, false],
      [`/admin/v1/accounts/${account.id}/ledger?kind=top_up`, OPERATOR, false],
      [`/admin/v1/changes?accountId=${account.id}&action=accounts.top-ups.create`, OPERATOR, false],
    ] as const) {
      const address = path.startsWith('/admin/') ? path : `/account/v1${path}`;
      const json = (await (await fetch(g.url + address, { headers })).json()) as { data: { id: string }[] };
      const csv = await fetch(g.url + address, { headers: { ...headers, accept: 'text/csv' } });
      assert.match(csv.headers.get('content-type')!, /^text\/csv/);
      const [titles, ...lines] = (await csv.text()).trimEnd().split('\r\n');
      const columns = titles!.split(',');
      const at = columns.indexOf('id');
      assert.ok(json.data.length > 0, path);
      // Ids come before user-written texts, which may contain commas.
      assert.deepEqual(
        lines.map((line) => line.split(',')[at]),
        json.data.map(({ id }) => id),
        path,
      );
      for (const secret of ['costYuan', 'route.provider', 'memo', 'accountName']) {
        if (isOwn) assert.ok(!columns.includes(secret), `${path}: ${secret}`);
      }
    }
  });

  it('as CSV quote texts and prevent formulas', async () => {
    const read = async (path: string): Promise<string> =>
      (await fetch(g.url + path, { headers: { ...OPERATOR, accept: 'text/csv' } })).text();
    assert.match(await read(`/admin/v1/accounts/${account.id}/ledger`), /,"for ""them"", later",/);
    assert.match(await read(`/admin/v1/refusals?keyId=${keyId}`), /,'=1\+1,/);
  });

  it('as CSV fail like the JSON list, before the first line', async () => {
    for (const path of [
      '/accounts/acct_none/ledger',
      `/refusals?userId=${member.id}`,
      '/calls?requestId=x&keyId=y',
      '/changes?from=yesterday',
    ]) {
      const csv = await fetch(`${g.url}/admin/v1${path}`, { headers: { ...OPERATOR, accept: 'text/csv' } });
      assert.ok(csv.status === 400 || csv.status === 404, path);
      assert.match(csv.headers.get('content-type')!, /^application\/json/);
    }
  });
});
