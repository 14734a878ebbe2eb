import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { type AccountApiDependencies, accountTable } from '../../src/api/registers/account.ts';
import { type PeopleApiDependencies, peopleTable } from '../../src/api/registers/people.ts';
import {
  type Address,
  type Asked,
  addresses,
  askAddress,
  askFor,
  responseAnything,
  streamed,
  works,
} from '../conformance/addresses.ts';
import { grant, plansText } from '../plans/coding.ts';
import { createTestClock } from '../support/clock.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { startGateway, type TestGateway } from '../support/gateway.ts';
import { ask, createPerson, type TestPerson } from '../support/people.ts';
import { until } from '../support/until.ts';

/**
 * Members can read the balance with their keys unless the account hides it (docs/account-api.md). Then no response to a member contains it:
 * the balance begins with digits that occur in no other figure.
 */

const BALANCE_YUAN = '73512468.13579';
const CANARY = /7_?,?3_?,?5_?,?1_?,?2_?,?4/;
const AVAILABLE = 'x-faregate-available-yuan';
const PLANS = plansText({ wide: { models: ['test-both', 'test-chat', 'test-messages', 'test-responses'] } });

const calls = addresses.filter(({ context }) => context === 'balance');
const balances = addresses.filter(({ work }) => work === 'balance');
const streams = calls.filter(({ work }) => 'respondStream' in works[work]);
const chat = calls.find(({ work }) => work === 'chat')!;

const accountRows = accountTable({} as AccountApiDependencies);
const peopleRows = peopleTable({} as PeopleApiDependencies);

describe(`the balance for members`, { timeout: 300_000 }, () => {
  const clock = createTestClock('2026-11-20T04:00:00Z');
  let stored: TestDatabase;
  let g: TestGateway;
  /** Uses the same database. */
  let other: TestGateway;
  let accountId: string;
  let owner: TestPerson;
  let lin: TestPerson;
  let wholeKey: string;
  before(async () => {
    stored = await createTestDatabase();
    g = await startGateway({ stored, clock, plans: PLANS });
    other = await startGateway({ stored, database: stored.openAnother(), clock, plans: PLANS });
    for (const node of [g, other]) node.provider.respond = responseAnything;
    const made = await g.admin('POST', '/accounts', { name: 'Reeds', verified: true, balanceYuan: BALANCE_YUAN });
    accountId = made.body.id;
    await grant(g, accountId, 'wide');
    owner = await createPerson(g, { name: 'Ada', memberships: [{ accountId, role: 'owner' }] });
    lin = await createPerson(g, { name: 'Lin', memberships: [{ accountId, role: 'member' }] });
    wholeKey = await keyOf(null);
  });
  after(async () => {
    await other?.stop();
    await g?.stop();
    await stored?.remove();
  });

  async function keyOf(userId: string | null, body: object = {}): Promise<string> {
    const scopes = ['calls', 'account'];
    const made = await g.admin('POST', `/accounts/${accountId}/keys`, { scopes, userId, ...body });
    assert.equal(made.status, 201, JSON.stringify(made.body));
    return made.body.key;
  }

  async function setByOwner(membersSeeBalance: boolean): Promise<void> {
    const set = await ask(g, 'PATCH', '/account', { membersSeeBalance }, owner.headers);
    assert.deepEqual([set.status, set.body.membersSeeBalance], [200, membersSeeBalance]);
  }

  /** Whether a call's response mentions the balance, on one node. */
  async function isShown(node: TestGateway, key: string): Promise<boolean> {
    const response = await askAddress(node.url, chat, key);
    assert.equal(response.status, 200, response.text);
    return response.headers[AVAILABLE] !== undefined;
  }

  function assertHidden(response: Pick<Asked, 'headers' | 'text'>, what: string): void {
    assert.equal(response.headers[AVAILABLE], undefined, what);
    const said = JSON.stringify(response.headers) + response.text;
    assert.doesNotMatch(said, CANARY, what);
  }

  const nameOf = ({ method, path }: Address): string => `${method} ${path}`;

  it('a member’s key reads the balance by default', async () => {
    const key = await keyOf(lin.id);
    for (const address of balances) {
      const response = await askAddress(g.url, address, key);
      assert.match(response.text, CANARY, nameOf(address));
      assert.equal(response.json.is_active, true);
    }
    const response = await askAddress(g.url, chat, key);
    assert.match(response.headers[AVAILABLE] ?? '', CANARY);
  });

  it('if hidden, a member’s key reads the smallest remaining budget, or 0 without budgets', async () => {
    await setByOwner(false);
    const plain = await keyOf(lin.id);
    const limited = await keyOf(lin.id, { dailyCalls: 50 });
    const budgets = {
      dailySpendCapYuan: '9',
      weeklySpendCapYuan: '4',
      monthlySpendCapYuan: '6',
      totalSpendCapYuan: '8',
    };
    const budgeted = await keyOf(lin.id, budgets);
    const spent = (await askAddress(g.url, chat, budgeted)).headers['x-faregate-charge-yuan'];
    assert.ok(Number(spent) > 0);
    const read = async (address: Address, key: string) => (await askAddress(g.url, address, key)).json;
    for (const address of balances) {
      for (const key of [plain, limited]) {
        assert.deepEqual(await read(address, key), { is_active: true, balance: 0, unit: 'CNY' }, nameOf(address));
      }
      const left = Math.floor((4 - Number(spent)) * 1e6) / 1e6;
      assert.deepEqual(await read(address, budgeted), { is_active: true, balance: left, unit: 'CNY' });
      assert.match((await askAddress(g.url, address, wholeKey)).text, CANARY);
      assert.match((await askAddress(g.url, address, await keyOf(owner.id))).text, CANARY);
    }
    // A used-up budget leaves nothing; it is available again in the next week.
    const small = await keyOf(lin.id, { weeklySpendCapYuan: '0.00002', totalSpendCapYuan: '5' });
    assert.equal((await askAddress(g.url, chat, small)).status, 200);
    assert.deepEqual(await read(balances[0]!, small), { is_active: false, balance: 0, unit: 'CNY' });
    clock.advance(3 * 86_400_000);
    assert.deepEqual(await read(balances[0]!, small), { is_active: true, balance: 0.00002, unit: 'CNY' });
  });

  it('if hidden, no response to a member’s key or session contains it, including errors', async () => {
    await setByOwner(false);
    const key = await keyOf(lin.id);
    for (const address of addresses) assertHidden(await askAddress(g.url, address, key), nameOf(address));
    for (const address of streams) {
      const response = await askAddress(g.url, address, key, { body: streamed(address) });
      assert.equal(response.status, 200, nameOf(address));
      assertHidden(response, `${nameOf(address)} as a stream`);
    }
    const headers = { 'idempotency-key': 'of-a-member' };
    for (const isRepeat of [undefined, 'true']) {
      const response = await askAddress(g.url, chat, key, { headers });
      assert.deepEqual([response.status, response.headers['x-faregate-repeated']], [200, isRepeat], response.text);
      assertHidden(response, 'a call that is repeated');
    }
    const lost = { model: 'nowhere', messages: [] };
    assertHidden(await askAddress(g.url, chat, key, { body: lost }), 'a refusal');
    g.provider.respond = (_request, reply) => void reply.writeHead(500).end('{}');
    const failed = await askAddress(g.url, chat, key);
    g.provider.respond = responseAnything;
    assert.equal(failed.status, 500);
    assertHidden(failed, 'a call that failed');

    const authorization = `Bearer ${key}`;
    const asMember = [{ authorization }, lin.headers] as readonly Record<string, string>[];
    for (const { method, path } of [...accountRows, ...peopleRows]) {
      if (path.includes(':id') || method === 'DELETE') continue;
      for (const headers of asMember) {
        const body = method === 'GET' ? {} : { body: '{}' };
        const url = `/account/v1${path}?${path === '/statement' ? 'month=2026-11' : ''}`;
        const type = method === 'GET' ? {} : { 'content-type': 'application/json' };
        assertHidden(await askFor(g.url, url, { method, headers: { ...headers, ...type }, ...body }), path);
      }
    }
    const { data } = (await ask(g, 'GET', '/calls', undefined, { authorization })).body;
    const call = await askFor(g.url, `/account/v1/calls/${data[0].id}`, { headers: { authorization } });
    assert.equal(call.status, 200);
    assertHidden(call, 'an own call');
  });

  it('an account without money refuses a member’s call without revealing the debt', async () => {
    await setByOwner(false);
    const key = await keyOf(lin.id, { totalSpendCapYuan: '5' });
    const owed = { amountYuan: '-99999999', memo: 'all of it' };
    const posted = await g.admin('POST', `/accounts/${accountId}/adjustments`, owed);
    assert.equal(posted.status, 201, JSON.stringify(posted.body));
    const digits = new RegExp(posted.body.balanceYuan.slice(1, 7));
    for (const address of [...calls, ...balances]) {
      const response = await askAddress(g.url, address, key);
      assert.equal(response.status >= 400, address.context === 'balance', nameOf(address));
      assert.doesNotMatch(JSON.stringify(response.headers) + response.text, digits, nameOf(address));
      if (address.work === 'balance') assert.deepEqual(response.json, { is_active: false, balance: 5, unit: 'CNY' });
    }
    assert.match((await askAddress(g.url, balances[0]!, wholeKey)).text, digits);
    await g.admin('POST', `/accounts/${accountId}/adjustments`, { amountYuan: '99999999', memo: 'back' });
  });

  it('a change of the setting or a role reaches every node without lookups per call', async () => {
    await setByOwner(true);
    const mo = await createPerson(g, { name: 'Mo', memberships: [{ accountId, role: 'member' }] });
    const key = await keyOf(mo.id);
    const becomes = async (seen: boolean) => {
      for (const node of [g, other]) await until(async () => (await isShown(node, key)) === seen);
    };
    await becomes(true); // members see it
    const hide = await g.admin('PATCH', `/accounts/${accountId}`, { membersSeeBalance: false });
    assert.equal(hide.body.membersSeeBalance, false);
    await becomes(false); // operators hide it too
    const roleOf = (role: string) => ask(g, 'PATCH', `/members/${mo.id}`, { role }, owner.headers);
    assert.equal((await roleOf('owner')).status, 200);
    await becomes(true); // an owner sees it
    assert.equal((await roleOf('member')).status, 200);
    await becomes(false); // who was an owner does not
    const asked = [g, other].map((node) => node.observed.statement('accounts.select-standings').asked);
    await becomes(false); // as before
    assert.deepEqual(
      [g, other].map((node) => node.observed.statement('accounts.select-standings').asked),
      asked,
    );
    assert.equal((await roleOf('owner')).status, 200);
    await becomes(true); // an owner again
    assert.equal((await ask(g, 'DELETE', `/members/${mo.id}`, undefined, owner.headers)).status, 204);
    await becomes(false); // who has left does not, though the key works
    const again = await g.admin('POST', `/accounts/${accountId}/members`, { userId: mo.id, role: 'owner' });
    assert.equal(again.status, 201);
    await becomes(true); // who came back does
    assert.equal((await g.admin('DELETE', `/users/${mo.id}`)).status, 204);
    await becomes(false); // a user who is gone does not
  });

  it('only owners and operators can change the setting', async () => {
    for (const headers of [lin.headers, { authorization: `Bearer ${await keyOf(lin.id)}` }]) {
      assert.equal((await ask(g, 'PATCH', '/account', { membersSeeBalance: true }, headers)).status, 403);
    }
    const authorization = `Bearer ${wholeKey}`;
    const set = await ask(g, 'PATCH', '/account', { membersSeeBalance: true }, { authorization });
    assert.deepEqual([set.status, set.body.membersSeeBalance], [200, true]);
    assert.equal((await ask(g, 'PATCH', '/account', { membersSeeBalance: 'no' }, owner.headers)).status, 400);
  });
});
