import assert from 'node:assert/strict';
import { after, afterEach, before, describe, it } from 'node:test';
import { plansText } from '../plans/coding.ts';
import { call } from '../support/client.ts';
import { ADMIN_TOKEN, startGateway, type TestAccount, type TestGateway } from '../support/gateway.ts';
import { chatResponse } from '../support/provider.ts';
import { type RecordedLogger, recordLogs } from '../support/recorded-logger.ts';

/** If one of several partitions fails or does not respond, only requests that need it fail, and their errors name it. */

const DEAD = 2;

describe('a partition that does not respond to the management APIs', { timeout: 120_000 }, () => {
  let g: TestGateway;
  let logs: RecordedLogger;
  /** An account of each partition, by partition number. */
  const accounts: TestAccount[] = [];
  const calls: string[] = [];
  const subscriptions: string[] = [];

  const every = () => g.partitions[DEAD]!.every;
  const ask = async (method: string, path: string, body?: object) => {
    const response = await fetch(`${g.url}/admin/v1${path}`, {
      method,
      headers: { authorization: `Bearer ${ADMIN_TOKEN}`, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    // biome-ignore lint/suspicious/noExplicitAny: tests read what they expect to be there
    const json: any = await response.json();
    return { status: response.status, headers: response.headers, body: json };
  };

  before(async () => {
    logs = recordLogs();
    g = await startGateway({ partitions: 4, plans: plansText({ coder: {} }), logger: logs.logger });
    g.provider.respond = chatResponse();
    for (let n = 0; n < 4; n++) {
      const account = await g.createAccount();
      accounts.push(account);
      const granted = await ask('POST', `/accounts/${account.id}/subscriptions`, { planId: 'coder' });
      subscriptions.push(granted.body.id);
      const made = await call(`${g.url}/v1/chat/completions`, account.key, { model: 'test-chat', messages: [] });
      assert.equal(made.status, 200, made.text);
      calls.push((await account.endedCall()).id);
    }
  });
  afterEach(() => {
    every().recover();
    every().release();
  });
  after(() => g.stop());

  /** Requests about the account of a partition, or about an object of it, by an id without an account. */
  const ofPartition = (n: number): readonly (readonly [string, string, object?])[] => [
    ['GET', `/accounts/${accounts[n]!.id}`],
    ['GET', `/accounts/${accounts[n]!.id}/ledger`],
    ['GET', `/accounts/${accounts[n]!.id}/keys`],
    ['GET', `/accounts/${accounts[n]!.id}/statement?month=2026-10`],
    ['GET', `/accounts/${accounts[n]!.id}/plan`],
    ['GET', `/usage?groupBy=model&accountId=${accounts[n]!.id}`],
    ['GET', `/usage?groupBy=model&keyId=${accounts[n]!.keyId}`],
    ['GET', `/calls?accountId=${accounts[n]!.id}`],
    ['GET', `/calls?status=in_flight&accountId=${accounts[n]!.id}`],
    ['GET', `/calls/${calls[n]}`],
    ['POST', `/accounts/${accounts[n]!.id}/top-ups`, { amountYuan: '1' }],
    ['POST', `/calls/${calls[n]}/refunds`, { amountYuan: '0.000001' }],
    ['PATCH', `/keys/${accounts[n]!.keyId}`, { dailySpendCapYuan: '5' }],
    ['POST', `/subscriptions/${subscriptions[n]}/renewals`],
  ];
  const OF_ALL: readonly (readonly [string, string, object?])[] = [
    ['GET', '/accounts'],
    ['GET', '/calls'],
    ['GET', '/calls?model=test-chat'],
    ['GET', '/calls?status=in_flight'],
    ['GET', '/calls?requestId=anything'],
    ['GET', '/calls/call_nowhere'],
    ['POST', '/calls/call_nowhere/refunds', {}],
    ['GET', '/usage?groupBy=model'],
    ['GET', '/usage?groupBy=account'],
    ['GET', '/plans'],
  ];

  it('is named in errors of requests that need it', async () => {
    every().fail('before');
    for (const [method, path, body] of [...OF_ALL, ...ofPartition(DEAD)]) {
      const response = await ask(method, path, body);
      assert.equal(response.status, 500, path);
      const { code, message } = response.body.error;
      assert.equal(code, 'internal_error', path);
      assert.match(message, /^Partition 2: The gateway's database does not respond/, path);
      assert.equal(response.headers.get('retry-after'), '2', path);
      assert.equal(response.headers.get('x-should-retry'), null, path);
    }
    const logged = logs.lines.filter(({ message }) => message === 'the database did not respond to a request');
    assert.ok(logged.length >= OF_ALL.length);
    const headers = { authorization: `Bearer ${accounts[DEAD]!.key}` };
    const query = await fetch(`${g.url}/v1/user/balance`, { headers });
    assert.deepEqual([query.status, query.headers.get('x-error-code')], [500, 'internal_error']);
  });

  it('does not delay accounts of other partitions', async () => {
    every().hold();
    for (const n of [0, 1, 3]) {
      for (const [method, path, body] of ofPartition(n)) {
        const response = await ask(method, path, body);
        assert.ok(response.status < 300, `${path}: ${JSON.stringify(response.body)}`);
      }
    }
    for (const n of [0, 1, 3]) {
      const headers = { authorization: `Bearer ${accounts[n]!.key}` };
      assert.equal((await fetch(`${g.url}/v1/user/balance`, { headers })).status, 200);
    }
    const found = await ask('POST', '/keys/search', { key: accounts[3]!.key });
    assert.deepEqual(
      found.body.data.map(({ id }: { id: string }) => id),
      [accounts[3]!.keyId],
    );
    // A new account goes to the partition with the fewest accounts, which is not this one.
    assert.equal((await g.admin('POST', '/accounts', { name: 'new' })).status, 201);
    const { every: waits } = g.partitions[DEAD]!;
    assert.ok(waits.asked > waits.done, 'nothing was asked of the partition that says nothing');
  });

  it('serves all requests again once it responds', async () => {
    for (const [method, path, body] of [...OF_ALL, ...ofPartition(DEAD)].filter(
      ([, path]) => !path.includes('nowhere'),
    )) {
      const response = await ask(method, path, body);
      assert.ok(response.status < 300, `${path}: ${JSON.stringify(response.body)}`);
    }
  });
});
