import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import {
  type Address,
  addresses,
  askAddress,
  assertRefusal,
  formOf,
  responseAnything,
  urlOf,
  workOf,
} from '../conformance/addresses.ts';
import { grant, plansText } from '../plans/coding.ts';
import { call, startCall } from '../support/client.ts';
import { runCommand } from '../support/command.ts';
import { ADMIN_TOKEN, startGateway, type TestAccount, type TestGateway } from '../support/gateway.ts';
import { ask, createPerson, type TestPerson } from '../support/people.ts';
import { sql } from '../support/sql.ts';
import { until } from '../support/until.ts';

/** Who made a call: what is recorded, who sees it, filters and groups of usage (docs/callers.md). */

const CALLS = addresses.filter(({ context }) => context !== 'free');
const PLANS = plansText({
  wide: { models: ['test-both', 'test-chat', 'test-messages', 'test-responses', 'test-completions'], concurrency: 100 },
});
const ALL = { clientAddress: true, program: true, endUser: true };
const NOTHING = { clientAddress: false, program: false, endUser: false };
const USER_AGENT = 'tester/1.0 (a computer)';
const TAGS = 'batch, team:red ,batch';

/** A request of the address that names an end user. */
function namedBody(address: Address, user: string): object | Buffer {
  if (address.work === 'imageEdit') return formOf({ model: 'gpt-image-2', prompt: 'A gate', user });
  const named = address.work === 'messages' ? { metadata: { user_id: user } } : { user };
  return { ...workOf(address).body, ...named };
}

describe('who made a call', { timeout: 300_000 }, () => {
  let g: TestGateway;
  let account: TestAccount;
  let other: TestAccount;
  let owner: TestPerson;
  let lin: TestPerson;
  let linKey: string;

  before(async () => {
    g = await startGateway({ plans: PLANS, usageIntervalMs: 5 });
    g.provider.respond = responseAnything;
    account = await g.createAccount();
    other = await g.createAccount();
    for (const { id } of [account, other]) await grant(g, id, 'wide');
    owner = await createPerson(g, { name: 'Ada', memberships: [{ accountId: account.id, role: 'owner' }] });
    lin = await createPerson(g, { name: 'Lin', memberships: [{ accountId: account.id, role: 'member' }] });
    const made = await g.admin('POST', `/accounts/${account.id}/keys`, { name: 'lin', userId: lin.id });
    linKey = made.body.key;
  });
  after(() => g?.stop());

  async function record(recording: object): Promise<void> {
    const { status, body } = await g.admin('PATCH', `/accounts/${account.id}`, { recording });
    assert.equal(status, 200, JSON.stringify(body));
  }
  const send = (address: Address, key: string, user: string, headers: Record<string, string> = {}) =>
    askAddress(g.url, address, key, {
      body: namedBody(address, user),
      headers: { 'user-agent': USER_AGENT, ...headers },
    });
  /** The facts about the caller of the newest call. */
  async function callerOf({ id }: Pick<TestAccount, 'id'>) {
    const { clientAddress, program, endUser, tags } = (await g.admin('GET', `/calls?accountId=${id}&limit=1`)).body
      .data[0];
    return { clientAddress, program, endUser, tags };
  }
  const list = async (query: string): Promise<string[]> => {
    const { status, body } = await g.admin('GET', `/calls?accountId=${account.id}&${query}`);
    assert.equal(status, 200, JSON.stringify(body));
    return body.data.map(({ endUser }: { endUser: string | null }) => endUser);
  };
  const summed = () =>
    until(async () => (await sql<{ n: bigint }>(g.database, 'select count(*) as n from usage_queue'))[0]!.n === 0n);
  async function usage(path: string, headers?: Record<string, string>) {
    const { status, body } =
      headers === undefined ? await g.admin('GET', path) : await ask(g, 'GET', path, undefined, headers);
    assert.equal(status, 200, JSON.stringify(body));
    return body.data as Record<string, unknown>[];
  }

  describe('for every address of calls', () => {
    for (const address of CALLS) {
      it(`${address.method} ${address.path}: nothing but tags by default, and everything if the account asks for it`, async () => {
        await record(NOTHING);
        const before = g.provider.requests.length;
        assert.equal((await send(address, account.key, 'ann')).status, 200);
        assert.deepEqual(await callerOf(account), { clientAddress: null, program: null, endUser: null, tags: [] });
        assert.equal((await send(address, account.key, 'ann', { 'x-faregate-tags': TAGS })).status, 200);
        assert.deepEqual(await callerOf(account), { ...NONE, tags: ['batch', 'team:red'] });
        await record(ALL);
        assert.equal((await send(address, account.key, 'ann', { 'x-faregate-tags': TAGS })).status, 200);
        assert.deepEqual(await callerOf(account), {
          clientAddress: '127.0.0.1',
          program: 'tester/1.0',
          endUser: 'ann',
          tags: ['batch', 'team:red'],
        });
        for (const { headers } of g.provider.requests.slice(before)) {
          assert.equal(headers['x-faregate-tags'], undefined);
        }
      });

      it(`${address.method} ${address.path}: a malformed tag is refused before anything is reserved`, async () => {
        const calls = async () => (await g.admin('GET', `/calls?accountId=${account.id}&limit=1`)).body.data[0]?.id;
        const [before, requests] = [await calls(), g.provider.requests.length];
        for (const tags of ['a b', '-a', 'x'.repeat(65), 'a,b,c,d,e,f,g,h,i']) {
          const response = await send(address, account.key, 'ann', { 'x-faregate-tags': tags });
          assertRefusal(response, address.envelope, {
            status: 400,
            code: 'invalid_request_error',
            type: 'invalid_request_error',
            param: 'x-faregate-tags',
          });
        }
        assert.deepEqual([await calls(), g.provider.requests.length], [before, requests]);
        assert.equal((await account.money()).heldNano, 0n);
      });
    }
  });

  it('is refused as tags only after the key was accepted', async () => {
    const chat = CALLS.find(({ work }) => work === 'chat')!;
    const response = await send(chat, 'sk-fg-unknown', 'ann', { 'x-faregate-tags': '-' });
    assert.equal(response.status, 401);
  });

  describe('lists, files and sums', () => {
    const chat = CALLS.find(({ path }) => path === '/v1/chat/completions')!;
    let callCost: string;
    before(async () => {
      account = await g.createAccount();
      owner = await createPerson(g, { name: 'Bo', memberships: [{ accountId: account.id, role: 'owner' }] });
      lin = await createPerson(g, { name: 'Lin', memberships: [{ accountId: account.id, role: 'member' }] });
      linKey = (await g.admin('POST', `/accounts/${account.id}/keys`, { name: 'lin', userId: lin.id })).body.key;
      const set = await ask(g, 'PATCH', '/account', { recording: { endUser: true, program: true } }, owner.headers);
      assert.deepEqual(set.body.recording, { clientAddress: false, program: true, endUser: true });
      assert.deepEqual(set.body.recordingInForce, set.body.recording);
      const sends = [
        ['ann', 'red,batch', account.key],
        ['ann', 'red', account.key],
        ['bob', 'batch', linKey],
        ['', '', account.key],
      ] as const;
      for (const [user, tags, key] of sends) {
        const response = await send(chat, key, user, tags === '' ? {} : { 'x-faregate-tags': tags });
        assert.equal(response.status, 200);
        callCost = response.headers['x-faregate-charge-yuan']!;
      }
      await summed();
    });

    it('filter calls by what was recorded', async () => {
      assert.deepEqual(await list('endUser=ann'), ['ann', 'ann']);
      assert.deepEqual(await list('tag=batch'), ['bob', 'ann']);
      assert.deepEqual(await list('tag=batch&endUser=ann'), ['ann']);
      assert.deepEqual(await list('program=tester/1.0'), [null, 'bob', 'ann', 'ann']);
      assert.deepEqual(await list('program=tester'), []);
      assert.deepEqual(await list('clientAddress=127.0.0.1'), []);
      assert.deepEqual(await list('endUser=ann&status=failed'), []);
      // Pages of one call each.
      const first = (await g.admin('GET', `/calls?accountId=${account.id}&endUser=ann&limit=1`)).body;
      const second = await g.admin(
        'GET',
        `/calls?accountId=${account.id}&endUser=ann&limit=1&cursor=${first.nextCursor}`,
      );
      assert.deepEqual(second.body.data[0].tags, ['red', 'batch']);
      const refused = await g.admin('GET', '/calls?requestId=req_1&tag=red');
      assert.equal(refused.body.error.param, 'requestId');
    });

    it('show owners all calls, and members their own', async () => {
      const ofOwner = await usage('/calls?tag=batch', owner.headers);
      assert.deepEqual(
        ofOwner.map(({ endUser }) => endUser),
        ['bob', 'ann'],
      );
      const ofMember = await usage('/calls?tag=batch', lin.headers);
      assert.deepEqual(
        ofMember.map(({ endUser, program, tags }) => [endUser, program, tags]),
        [['bob', 'tester/1.0', ['batch']]],
      );
      assert.deepEqual(await usage('/calls?endUser=ann', lin.headers), []);
      const groups = await usage('/usage?groupBy=endUser', lin.headers);
      assert.deepEqual(
        groups.map(({ endUser, calls }) => [endUser, calls]),
        [['bob', 1]],
      );
      const denied = await ask(g, 'PATCH', '/account', { recording: ALL }, lin.headers);
      assert.equal(denied.status, 403);
    });

    it('are in CSV', async () => {
      const headers = { authorization: `Bearer ${ADMIN_TOKEN}`, accept: 'text/csv' };
      const response = await fetch(`${g.url}/admin/v1/calls?accountId=${account.id}&endUser=bob`, { headers });
      const [titles, row] = (await response.text()).split(/\r?\n/);
      const values = row!.split(',');
      const at = (name: string) => values[titles!.split(',').indexOf(name)];
      assert.deepEqual([at('endUser'), at('program'), at('clientAddress')], ['bob', 'tester/1.0', '']);
      assert.match(row!, /batch/);
    });

    it('sum usage by end user, program and tag; a call counts for each of its tags', async () => {
      const groups = async (query: string, ...names: string[]) =>
        (await usage(`/usage?accountId=${account.id}&groupBy=${query}`)).map((row) => names.map((name) => row[name]));
      const twice = (await usage(`/usage?accountId=${account.id}&groupBy=endUser`))[0]!;
      assert.equal(Number(twice.chargeYuan).toFixed(9), (2 * Number(callCost)).toFixed(9));
      assert.deepEqual(await groups('endUser', 'endUser', 'calls'), [
        ['ann', 2],
        ['bob', 1],
      ]);
      assert.deepEqual(await groups('tag', 'tag', 'calls'), [
        ['batch', 2],
        ['red', 2],
      ]);
      assert.deepEqual(await groups('program', 'program', 'calls'), [['tester/1.0', 4]]);
      assert.deepEqual(await groups('model,tag', 'model', 'tag', 'calls'), [
        ['test-chat', 'batch', 2],
        ['test-chat', 'red', 2],
      ]);
      assert.deepEqual(await groups('tag&model=other', 'tag'), []);
      for (const query of ['endUser,tag', 'tag,provider', 'program,status']) {
        const { status, body } = await g.admin('GET', `/usage?groupBy=${query}`);
        assert.deepEqual([status, body.error.param], [400, 'groupBy']);
      }
      const everybody = await usage('/usage?groupBy=tag');
      assert.ok(everybody.some(({ tag }) => tag === 'team:red'));
    });

    it('are listed by the command line', async () => {
      const run = async (...args: string[]) => {
        const { code, stdout, stderr } = await runCommand(args, { DATABASE_URL: g.stored.url });
        assert.equal(code, 0, stderr);
        return stdout;
      };
      const calls = await run('calls', '--end-user', 'bob', '--account', account.id);
      assert.match(calls, /END USER +TAGS +PROGRAM\n.* bob +batch +tester\/1\.0/);
      const sums = await run('usage', '--group-by', 'tag', '--account', account.id);
      assert.match(sums, /^TAG .*\nbatch .*\nred /);
      const set = await run('account', 'set', account.id, '--record', 'address,end-user');
      assert.match(set, /recorded +address, end-user/);
      const { body } = await g.admin('GET', `/accounts/${account.id}`);
      assert.deepEqual(body.recording, { clientAddress: true, program: false, endUser: true });
    });

    it('show the callers of calls in flight', async () => {
      const { promise, resolve } = Promise.withResolvers<void>();
      g.provider.respond = async (request, reply) => {
        await promise;
        await responseAnything(request, reply);
      };
      const started = startCall(`${g.url}${urlOf(chat)}`, account.key, namedBody(chat, 'eve'), {
        headers: { 'x-faregate-tags': 'slow' },
      });
      await until(async () => (await list('status=in_flight&tag=slow')).length === 1);
      assert.deepEqual(await list('status=in_flight&endUser=eve'), ['eve']);
      assert.deepEqual(await list('status=in_flight&endUser=ann'), []);
      resolve();
      assert.equal((await started.response).status, 200);
      await until(async () => (await list('status=in_flight')).length === 0);
    });
  });
});

const NONE = { clientAddress: null, program: null, endUser: null };

describe('who made a call, if the configuration asks for it', { timeout: 60_000 }, () => {
  it('is recorded for every account, behind a trusted proxy by its header', async () => {
    await using g = await startGateway({
      server: 'trustedProxies: [127.0.0.1]',
      plans: 'recording: { clientAddress: true, endUser: true }',
    });
    const account = await g.createAccount();
    const owner = await createPerson(g, { memberships: [{ accountId: account.id, role: 'owner' }] });
    const headers = { 'x-forwarded-for': '198.51.100.7', 'user-agent': USER_AGENT };
    const sent = { model: 'test-chat', messages: [], safety_identifier: 'hashed', user: 'ann' };
    assert.equal((await call(`${g.url}/v1/chat/completions`, account.key, sent, { headers })).status, 200);
    const { clientAddress, program, endUser } = await account.lastCall();
    assert.deepEqual([clientAddress, program, endUser], ['198.51.100.7', null, 'hashed']);
    const { body } = await ask(g, 'GET', '/account', undefined, owner.headers);
    assert.deepEqual(body.recording, NOTHING);
    assert.deepEqual(body.recordingInForce, { clientAddress: true, program: false, endUser: true });
  });
});
