import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { parseConfig } from '../../src/config/load.ts';
import { createTestClock } from '../support/clock.ts';
import { startGateway, type TestGateway, testConfigText } from '../support/gateway.ts';
import { type AskOptions, askFor, assertRefusal, wrongMethod } from './addresses.ts';
import { notTestable } from './rule.ts';

const models = `
  timed:
    operations: [chat]
    price:
      input: "4"
      output: "16"
      timeOfDay: { id: day, timezone: UTC, peak: { hours: ["09:00-21:00"], input: "8", output: "32" }, offPeak: { input: "2", output: "8" } }
    routes: [{ provider: chatty, model: secret-upstream-name }]
  unserved:
    operations: [embeddings]
    price: { input: "1" }
    routes: [{ provider: chatty, model: upstream }]
`;

describe('4.9 GET /v1/public/models', () => {
  const clock = createTestClock('2026-11-20T20:59:30Z');
  let gateway: TestGateway;
  before(async () => {
    gateway = await startGateway({ clock, models });
  });
  after(() => gateway.stop());

  const ask = (options: AskOptions = {}, path = '/v1/public/models') => askFor(gateway.url, path, options);
  const idsOf = (json: { models: { modelId: string }[] }): string[] => json.models.map(({ modelId }) => modelId);

  it('4.9 no key is needed, and whatever is sent as one changes nothing', async () => {
    const { status, text } = await ask();
    assert.equal(status, 200);
    for (const headers of [{ authorization: 'Bearer wrong' }, { 'x-api-key': '' }, { authorization: '???' }]) {
      const response = await ask({ headers });
      assert.equal(response.status, 200);
      assert.equal(response.text, text);
    }
  });

  it('4.9 there is no parameter and no body: both are ignored', async () => {
    const { text } = await ask();
    const response = await ask(
      { headers: { 'content-type': 'text/plain' }, body: 'x' },
      '/v1/public/models?limit=1&page=2',
    );
    assert.equal(response.text, text);
  });

  it('4.9 only models are listed that are public, routed, and have a published operation', async () => {
    const ids = idsOf((await ask()).json);
    assert.deepEqual(ids.toSorted(), [
      'gpt-image-2',
      'test-both',
      'test-chat',
      'test-images',
      'test-messages',
      'test-responses',
      'timed',
    ]);
  });

  it('4.9 supplier, route and credentials are not exposed', async () => {
    const { text, headers } = await ask();
    const shown = `${text}${JSON.stringify(headers)}`;
    for (const secret of [
      'chatty',
      'messy',
      'provider-secret',
      'upstream-chat',
      'secret-upstream-name',
      'priority',
      'weight',
      new URL(gateway.provider.url).host,
    ]) {
      assert.ok(!shown.includes(secret), secret);
    }
  });

  it('4.9 the response may be cached for 60 seconds, by anybody', async () => {
    assert.equal((await ask()).headers['cache-control'], 'public, max-age=60');
  });

  it('4.9 the same catalog has the same ETag, and one that is known gets 304 without a body', async () => {
    const first = await ask();
    const { etag } = first.headers;
    assert.match(etag!, /^"[\w-]+"$/);
    assert.equal((await ask()).headers.etag, etag);
    for (const known of [etag!, `W/${etag}`, `"other", ${etag}`, '*']) {
      const response = await ask({ headers: { 'if-none-match': known } });
      assert.equal(response.status, 304, known);
      assert.equal(response.body.length, 0);
      assert.equal(response.headers.etag, etag);
      assert.equal(response.headers['cache-control'], 'public, max-age=60');
      assert.ok(response.headers['request-id']);
    }
    for (const unknown of ['"other"', `"x${etag!.slice(1)}`, etag!.slice(1, -1), '']) {
      const response = await ask({ headers: { 'if-none-match': unknown } });
      assert.equal(response.status, 200, unknown);
      assert.equal(response.text, first.text);
    }
  });

  it('4.9 a price that switches is shown at once, under another ETag', async () => {
    const before = await ask();
    const priceOf = ({ json }: typeof before) =>
      json.models.find(({ modelId }: { modelId: string }) => modelId === 'timed').inputPriceYuan;
    assert.equal(priceOf(before), '8');
    clock.set('2026-11-20T21:00:00Z');
    try {
      const after = await ask({ headers: { 'if-none-match': before.headers.etag! } });
      assert.equal(after.status, 200);
      assert.equal(priceOf(after), '2');
      assert.notEqual(after.headers.etag, before.headers.etag);
    } finally {
      clock.set('2026-11-20T20:59:30Z');
    }
  });

  it('4.9 another configuration is another catalog, at once', async () => {
    const configured = (text: string) => parseConfig(text, 'test.yaml', {});
    const text = testConfigText(gateway.provider.url, { models });
    gateway.gateway.reload(configured(text.replace('  timed:\n', '  timed:\n    listed: false\n')));
    try {
      assert.ok(!idsOf((await ask()).json).includes('timed'));
    } finally {
      gateway.gateway.reload(configured(text));
    }
    assert.ok(idsOf((await ask()).json).includes('timed'));
  });

  it('4.9 with the database down the catalog is complete: it is never empty because of a failed read', async () => {
    const { text } = await ask();
    const statements = ['accounts.select-standings', 'ledger.select-balances', 'health.ping'].map((name) =>
      gateway.observed.statement(name),
    );
    for (const statement of statements) statement.fail('before');
    try {
      assert.equal((await askFor(gateway.url, '/readyz')).status, 503);
      const response = await ask();
      assert.equal(response.status, 200);
      assert.equal(response.text, text);
    } finally {
      for (const statement of statements) statement.recover();
    }
  });

  notTestable(
    '4.9 a read failure is 500 COMMON_001',
    'Nothing is read: the catalog is made of the configuration in memory, and a configuration that cannot be read leaves the one in force.',
  );

  it('4.9 every method but GET is 405 COMMON_004 with Allow, in the envelope of the catalog', async () => {
    for (const method of ['POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE']) {
      const response = await ask({ method });
      assertRefusal(response, 'catalog', wrongMethod);
      assert.equal(response.json.code, 'COMMON_004');
      assert.equal(response.headers.allow, 'GET');
    }
    const head = await ask({ method: 'HEAD' });
    assert.equal(head.status, 405);
    assert.equal(head.body.length, 0);
  });

  it('4.9 the catalog is free, and calls no provider', async () => {
    const account = await gateway.createAccount();
    const asked = gateway.provider.requests.length;
    assert.equal((await ask({ headers: { authorization: `Bearer ${account.key}` } })).status, 200);
    assert.equal(gateway.provider.requests.length, asked);
    assert.deepEqual(await account.money(), { balanceNano: 100_000_000_000n, heldNano: 0n });
    assert.equal(await account.lastCall(), undefined);
  });
});
