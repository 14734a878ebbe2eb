import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { assertReviewed } from '../people/reviewed-sentences.ts';
import { call } from '../support/client.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { costNano, startGateway, type TestAccount, type TestGateway } from '../support/gateway.ts';
import { chatCompletion, json } from '../support/provider.ts';
import { type Receiver, startReceiver } from '../support/receiver.ts';
import { until } from '../support/until.ts';
import { CREDENTIALS, catalogText } from './catalog-texts.ts';

const USAGE = { prompt_tokens: 1_000, completion_tokens: 100, total_tokens: 1_100 };
const BODY = { model: 'test-chat', max_tokens: 100, messages: [{ role: 'user', content: 'Hello' }] };
const HOUR_MS = 3_600_000;
const LEAD_MS = 100;

describe('the catalog of the database', { timeout: 180_000 }, () => {
  let stored: TestDatabase;
  let one: TestGateway;
  let two: TestGateway;
  let account: TestAccount;
  let receiver: Receiver;
  /** The text of revision 1. */
  let first: string;

  const start = (environment: Record<string, string> = CREDENTIALS): Promise<TestGateway> =>
    startGateway({
      stored,
      database: stored.openAnother(),
      catalog: 'database',
      revisionLeadMs: LEAD_MS,
      environment,
      noticeSettings: 'notices: { allowNetworks: [127.0.0.0/8] }',
    });

  before(async () => {
    stored = await createTestDatabase();
    [one, two] = [await start({ ...CREDENTIALS, ONLY_ON_NODE_ONE_KEY: 'provider-secret-key-3' }), await start()];
    for (const { provider } of [one, two]) provider.respond = json(200, chatCompletion(USAGE));
    account = await one.createAccount();
    first = catalogText(one.provider.url);
    receiver = await startReceiver();
    const endpoint = { url: receiver.url, events: ['catalog.failed', 'catalog.recovered'] };
    assert.equal((await one.admin('POST', '/webhooks', endpoint)).status, 201);
  });
  after(async () => {
    await receiver.close();
    await two.stop();
    await one.stop();
    await stored.remove();
  });

  const priced = (input: string): string => first.replace('input: "3"', `input: "${input}"`);
  const read = async () => (await one.admin('GET', '/catalog')).body;
  const push = async (text: string, members: object = {}) =>
    one.admin('POST', '/catalog/revisions', { base: (await read()).base, text, ...members });
  /** Resolves when all nodes apply a revision. */
  const applied = (number: number, nodes: readonly TestGateway[] = [one, two]) =>
    until(async () => {
      const metrics = await Promise.all(nodes.map((node) => revisionMetrics(node)));
      return metrics.every(({ in_force }) => in_force === number);
    });
  /** Runs the finders of node two until the receiver's last notice has this type. */
  const notified = (type: string) =>
    until(async () => {
      await two.gateway.notices.settle();
      return receiver.received.at(-1)?.body.type === type;
    });
  const models = async ({ url }: TestGateway): Promise<string[]> => {
    const response = await fetch(`${url}/v1/models`, { headers: { authorization: `Bearer ${account.key}` } });
    return ((await response.json()) as { data: { id: string }[] }).data.map(({ id }) => id);
  };
  const charge = async (node: TestGateway): Promise<bigint> => {
    const { balanceNano } = await account.money();
    assert.equal((await call(`${node.url}/v1/chat/completions`, account.key, BODY)).status, 200);
    return balanceNano - (await account.money()).balanceNano;
  };

  it('serves without models while there is no revision', async () => {
    assert.deepEqual(await models(one), []);
    assert.equal((await fetch(`${one.url}/readyz`)).status, 200);
    assert.deepEqual(await read(), {
      mode: 'database',
      inForce: null,
      scheduled: null,
      base: null,
      text: '',
      failed: null,
    });
  });

  it('is in force on all nodes after a push, and a second push of the same text changes nothing', async () => {
    const pushed = await push(first, { reason: 'first' });
    assert.equal(pushed.status, 201, JSON.stringify(pushed.body));
    assert.deepEqual([pushed.body.number, pushed.body.source, pushed.body.base], [1, 'push', null]);
    await applied(1);
    for (const node of [one, two]) {
      assert.ok((await models(node)).includes('test-chat'));
      assert.equal(await charge(node), costNano({ input: 1_000, output: 100 }));
    }
    const again = await push(first);
    assert.deepEqual([again.status, again.body.number, again.body.changes], [201, 1, []]);
    const { body: changes } = await one.admin('GET', '/changes?action=catalog.revisions.create');
    assert.equal(changes.data.length, 1);
  });

  it('charges the price of the revision in force, and says what changed in words and money', async () => {
    const checked = await one.admin('POST', '/catalog/check', { base: 1, text: priced('4') });
    assert.deepEqual(checked.body.problems, []);
    assert.deepEqual(
      checked.body.changes.map(({ text }: { text: string }) => text),
      ['test-chat: input ¥3 → ¥4'],
    );
    const [example, ...others] = checked.body.examples;
    assert.deepEqual([example.model, example.before, example.now, example.later], ['test-chat', '0.043', '0.053', []]);
    assert.deepEqual([example.marginPercentNow, others], [null, []]);
    const unchanged = await one.admin('POST', '/catalog/check', {
      base: 1,
      edits: [],
      exampleModels: ['test-chat', 'none'],
    });
    assert.deepEqual(
      unchanged.body.examples.map(({ model, before, now }: Record<string, unknown>) => [model, before, now]),
      [['test-chat', '0.043', '0.043']],
    );
    const pushed = await one.admin('POST', '/catalog/revisions', {
      base: 1,
      edits: [{ path: ['models', 'test-chat', 'price', 'input'], value: '4' }],
      reason: 'dearer',
    });
    assert.equal(pushed.status, 201, JSON.stringify(pushed.body));
    await applied(2);
    for (const node of [one, two])
      assert.equal(await charge(node), costNano({ input: 1_000, output: 100 }) + 1_000_000n);
    const { body } = await one.admin('GET', '/changes?action=catalog.revisions.create&limit=1');
    const [{ subject, sentence, after: recorded }] = body.data;
    assert.deepEqual(subject, { kind: 'catalog', id: '2' });
    assertReviewed('admin POST /catalog/revisions', sentence);
    assert.deepEqual(recorded.changes, ['test-chat: input ¥3 → ¥4']);
    const shown = await one.admin('GET', '/catalog/revisions/2');
    assert.deepEqual(
      shown.body.difference.map(({ before: was, after: is }: { before: string; after: string }) => [was, is]),
      [['¥3', '¥4']],
    );
  });

  it('refuses a change that starts from an earlier revision, with what has changed since', async () => {
    const late = await one.admin('POST', '/catalog/revisions', { base: 1, text: priced('5') });
    assert.deepEqual([late.status, late.body.error.code], [409, 'catalog_outdated']);
    assert.match(late.body.error.message, /since revision 1: revision 2 by .* is the last one\.$/);
    assert.deepEqual(late.body.error.details, ['test-chat: input ¥3 → ¥4']);
    assert.equal((await read()).base, 2);
  });

  it('comes into force at an instant, unless it is canceled', async () => {
    const inForceAt = new Date(Date.now() + HOUR_MS).toISOString();
    const scheduled = await push(priced('6'), { inForceAt });
    assert.deepEqual([scheduled.status, scheduled.body.inForceAt], [201, inForceAt]);
    await until(async () => (await revisionMetrics(two)).scheduled === 3);
    assert.equal(await charge(two), costNano({ input: 1_000, output: 100 }) + 1_000_000n);
    const before = await push(priced('7'));
    assert.deepEqual([before.status, before.body.error.code], [409, 'catalog_scheduled']);
    const canceled = await one.admin('DELETE', '/catalog/revisions/3');
    assert.equal(canceled.status, 200);
    assert.notEqual(canceled.body.canceledAt, null);
    const [{ sentence }] = (await one.admin('GET', '/changes?action=catalog.revisions.delete')).body.data;
    assertReviewed('admin DELETE /catalog/revisions/:id', sentence);
    assert.equal((await one.admin('DELETE', '/catalog/revisions/3')).status, 409);
    assert.equal((await one.admin('DELETE', '/catalog/revisions/2')).status, 409);
    assert.equal((await one.admin('DELETE', '/catalog/revisions/99')).status, 404);
    await until(async () => (await revisionMetrics(two)).scheduled === undefined);
    assert.deepEqual([(await read()).base, (await read()).scheduled], [2, null]);

    const soon = await push(priced('8'), { inForceAt: new Date(Date.now() + 500).toISOString() });
    assert.equal(soon.body.number, 4);
    await applied(4);
    assert.equal(await charge(two), costNano({ input: 1_000, output: 100 }) + 5_000_000n);
  });

  it('refuses an instant that has passed', async () => {
    const past = await push(priced('9'), { inForceAt: '2020-01-01' });
    assert.deepEqual([past.status, past.body.error.param], [400, 'inForceAt']);
  });

  it('goes back to the text of an earlier revision', async () => {
    const back = await one.admin('POST', '/catalog/revisions/1/rollback', { reason: 'too dear' });
    assert.deepEqual([back.status, back.body.number, back.body.source, back.body.base], [201, 5, 'rollback', 4]);
    const [{ sentence }] = (await one.admin('GET', '/changes?action=catalog.revisions.rollback.create')).body.data;
    assertReviewed('admin POST /catalog/revisions/:id/rollback', sentence);
    await applied(5);
    assert.equal((await read()).text, first);
    assert.equal(await charge(one), costNano({ input: 1_000, output: 100 }));
    const { body: listed } = await one.admin('GET', '/catalog/revisions?limit=2');
    assert.deepEqual(
      listed.data.map(({ number }: { number: number }) => number),
      [5, 4],
    );
    const { body: rest } = await one.admin('GET', `/catalog/revisions?limit=50&cursor=${listed.nextCursor}`);
    assert.equal(rest.data.length, 3);
    const { body: compared } = await one.admin('GET', '/catalog/difference?from=4&to=5');
    assert.deepEqual(
      compared.changes.map(({ text }: { text: string }) => text),
      ['test-chat: input ¥8 → ¥3'],
    );
  });

  it('refuses a text with a mistake or a secret, with the line', async () => {
    const line = first.split('\n').findIndex((text) => text.includes('CHATTY_KEY')) + 1;
    const literal = await push(first.replace(`\${CHATTY_KEY}`, 'sk-literal-secret-key'));
    assert.equal(literal.status, 400);
    assert.equal(literal.body.error.message, 'The catalog cannot be used.');
    assert.match(literal.body.error.details[0], new RegExp(`^line ${line}: providers\\.chatty\\.apiKey: .*secret`));
    assert.doesNotMatch(JSON.stringify(literal.body), /sk-literal/);
    const mistaken = await push(first.replace('maxOutputTokens', 'nonsense'));
    assert.equal(mistaken.status, 400);
    assert.match(mistaken.body.error.details.join('\n'), /^line \d+: models\.test-chat\.nonsense: /m);
    const foreign = await push(`${first}\nserver: { port: 1 }\n`);
    assert.match(foreign.body.error.details[0], /server: .*not part of the catalog/);
    assert.equal((await read()).base, 5);
  });

  it('keeps the earlier revision on a node that cannot use one, and the node says so', async () => {
    const foreign = priced('2').replace('CHATTY_KEY', 'ONLY_ON_NODE_ONE_KEY');
    assert.equal((await push(foreign)).status, 201);
    await applied(6, [one]);
    await until(async () => (await revisionMetrics(two)).failed === 6);
    assert.equal((await revisionMetrics(two)).in_force, 5);
    assert.equal(await charge(two), costNano({ input: 1_000, output: 100 }));
    const ready = await fetch(`${two.url}/readyz`);
    assert.equal(ready.status, 200);
    assert.match(await ready.text(), /cannot use revision 6 of the catalog: .*ONLY_ON_NODE_ONE_KEY/s);
    await notified('catalog.failed');
    const { since: _, message, ...data } = receiver.received.at(-1)!.body.data;
    assert.deepEqual(data, { node: two.gateway.nodeId, revision: 6, inForce: 5 });
    assert.match(message, /ONLY_ON_NODE_ONE_KEY/);
    const { failed } = (await two.admin('GET', '/catalog')).body;
    assert.equal(failed.number, 6);
    assert.equal((await push(priced('2'))).body.number, 7);
    await applied(7);
    assert.equal((await revisionMetrics(two)).failed, undefined);
    await notified('catalog.recovered');
    assert.deepEqual(receiver.received.at(-1)!.body.data, { node: two.gateway.nodeId, revision: 7 });
  });

  it('is in force after a restart', async () => {
    await two.stop();
    two = await start();
    two.provider.respond = json(200, chatCompletion(USAGE));
    assert.equal((await revisionMetrics(two)).in_force, 7);
    assert.equal(await charge(two), costNano({ input: 1_000, output: 100 }) - 1_000_000n);
  });

  it('is not changed by a draft, until that is applied', async () => {
    const saved = await push(priced('5'), { isDraft: true, reason: 'to discuss' });
    assert.deepEqual(
      [saved.status, saved.body.number, saved.body.inForceAt],
      [201, 8, null],
      JSON.stringify(saved.body),
    );
    const [{ sentence }] = (await one.admin('GET', '/changes?action=catalog.revisions.create&limit=1')).body.data;
    assertReviewed('admin POST /catalog/revisions, a draft', sentence);
    assert.deepEqual([(await read()).base, (await read()).scheduled], [7, null]);
    assert.equal((await push(priced('nonsense'), { isDraft: true })).status, 400);
    const inForceAt = new Date(Date.now() + HOUR_MS).toISOString();
    const applied = await one.admin('POST', '/catalog/revisions/8/apply', { inForceAt });
    assert.deepEqual([applied.status, applied.body.inForceAt], [200, inForceAt]);
    await until(async () => (await revisionMetrics(two)).scheduled === 8);
    assert.equal((await one.admin('DELETE', '/catalog/revisions/8')).status, 200);
    await until(async () => (await revisionMetrics(two)).scheduled === undefined);
    assert.equal((await revisionMetrics(two)).in_force, 7);
  });
});

/** The samples of `faregate_catalog_revision` by state. */
async function revisionMetrics({ url }: TestGateway): Promise<Record<string, number>> {
  const response = await fetch(`${url}/metrics`, { headers: { authorization: 'Bearer test-admin-token' } });
  const samples = [...(await response.text()).matchAll(/^faregate_catalog_revision\{state="(\w+)"\} (\d+)/gm)];
  return Object.fromEntries(samples.map(([, state, value]) => [state, Number(value)]));
}
