import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { createServer, type ServerResponse } from 'node:http';
import { dirname, join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { assertReviewed } from '../people/reviewed-sentences.ts';
import { call } from '../support/client.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import {
  costNano,
  startGateway,
  type TestAccount,
  type TestGateway,
  type TestGatewayOptions,
} from '../support/gateway.ts';
import { listenOnLoopback } from '../support/loopback.ts';
import { chatCompletion, json } from '../support/provider.ts';
import { type Receiver, startReceiver } from '../support/receiver.ts';
import { until } from '../support/until.ts';
import { CREDENTIALS, catalogText } from './catalog-texts.ts';

const USAGE = { prompt_tokens: 1_000, completion_tokens: 100, total_tokens: 1_100 };
const BODY = { model: 'test-chat', max_tokens: 100, messages: [{ role: 'user', content: 'Hello' }] };
const LEAD_MS = 100;
const LOOPBACK = 'notices: { allowNetworks: [127.0.0.0/8] }';

/** The prices of the model `test-chat`, at one yuan per dollar. */
const ENTRY = {
  litellm_provider: 'openai',
  mode: 'chat',
  input_cost_per_token: 3e-6,
  cache_read_input_token_cost: 7e-7,
  cache_creation_input_token_cost: 5e-6,
  cache_creation_input_token_cost_above_1hr: 1.1e-5,
  output_cost_per_token: 1.3e-5,
};

/** Serves a price file on loopback. */
async function startSource() {
  const source = {
    url: '',
    requests: 0,
    respond: (response: ServerResponse): void => void response.end('{}'),
    price(entry: object): void {
      const text = JSON.stringify({ sample_spec: {}, 'gpt-test': { ...ENTRY, ...entry } });
      source.respond = (response) => void response.end(text);
    },
    close: async (): Promise<void> => undefined,
  };
  const server = createServer((_request, response) => {
    source.requests++;
    source.respond(response);
  });
  const { port, close } = await listenOnLoopback(server);
  source.url = `http://127.0.0.1:${port}/prices.json`;
  source.close = close;
  source.price({});
  return source;
}

type Source = Awaited<ReturnType<typeof startSource>>;

const settingsOf = (url: string, more = ''): string => `
# Prices follow the list.
priceSource:
  url: ${url}
  usdCny: "1"
  models: [test-chat]
  names: { test-chat: openai/gpt-test }
  ${more}
`;

const start = (stored: TestDatabase, options: TestGatewayOptions = {}): Promise<TestGateway> =>
  startGateway({
    stored,
    database: stored.openAnother(),
    catalog: 'database',
    revisionLeadMs: LEAD_MS,
    environment: CREDENTIALS,
    noticeSettings: LOOPBACK,
    priceSource: { intervalMs: 3_600_000 },
    ...options,
  });

/** Puts a text in force, and waits until the node applies it. */
async function put(g: TestGateway, text: string): Promise<void> {
  const { base } = (await g.admin('GET', '/catalog')).body;
  const pushed = await g.admin('POST', '/catalog/revisions', { base, text });
  assert.equal(pushed.status, 201, JSON.stringify(pushed.body));
  await until(async () => (await g.admin('GET', '/catalog')).body.inForce?.number === pushed.body.number);
  await until(async () => (await g.admin('GET', '/catalog/price-source')).body.source !== null);
}

const readNow = async (g: TestGateway) => {
  const { status, body } = await g.admin('POST', '/catalog/price-source/read');
  assert.equal(status, 200, JSON.stringify(body));
  return body;
};
const textsOf = (changes: readonly { text: string }[]): string[] => changes.map(({ text }) => text);

describe('prices that follow a source', { timeout: 180_000 }, () => {
  let stored: TestDatabase;
  let g: TestGateway;
  let source: Source;
  let account: TestAccount;
  /** The text of the catalog with the source. */
  let text: string;
  before(async () => {
    stored = await createTestDatabase();
    source = await startSource();
    g = await start(stored);
    g.provider.respond = json(200, chatCompletion(USAGE));
    account = await g.createAccount();
    assert.equal((await g.admin('POST', '/catalog/price-source/read')).status, 409);
    text = `${catalogText(g.provider.url)}${settingsOf(source.url)}`;
    await put(g, text);
  });
  after(async () => {
    await g.stop();
    await stored.remove();
    await source.close();
  });

  const charge = async (): Promise<bigint> => {
    const { balanceNano } = await account.money();
    assert.equal((await call(`${g.url}/v1/chat/completions`, account.key, BODY)).status, 200);
    return balanceNano - (await account.money()).balanceNano;
  };
  const inForce = (number: number) =>
    until(async () => (await g.admin('GET', '/catalog')).body.inForce.number === number);
  const show = async (number: number) => (await g.admin('GET', `/catalog/revisions/${number}`)).body;
  const sentencesOf = async (action: string) => (await g.admin('GET', `/changes?action=${action}`)).body.data;

  it('change nothing while they are those of the source', async () => {
    const read = await readNow(g);
    assert.deepEqual([read.outcome, read.revision, read.changes], ['unchanged', null, []]);
    assert.equal((await g.admin('GET', '/catalog/revisions')).body.data.length, 1);
    const { body } = await g.admin('GET', '/catalog/price-source');
    assert.deepEqual(body.source, {
      address: source.url,
      every: '1d',
      usdCny: '1',
      marginPercent: '0',
      applyBelowPercent: null,
    });
    assert.deepEqual([body.lastRead.outcome, body.lastRead.node], ['unchanged', g.gateway.nodeId]);
  });

  it('arrive as a draft, which is not in force, says what changes, and keeps comments', async () => {
    source.price({ input_cost_per_token: 4e-6 });
    const read = await readNow(g);
    assert.deepEqual([read.outcome, read.revision, textsOf(read.changes)], ['draft', 2, ['test-chat: input ¥3 → ¥4']]);
    assert.deepEqual([read.examples[0].before, read.examples[0].now], ['0.043', '0.053']);
    const draft = await show(2);
    assert.deepEqual(
      [draft.source, draft.base, draft.inForceAt, draft.createdBy, draft.reason],
      ['feed', 1, null, 'price source', `price source ${source.url}`],
    );
    assert.deepEqual([textsOf(draft.difference), draft.examples], [textsOf(read.changes), read.examples]);
    assert.equal(draft.text, text.replace('input: "3"', 'input: "4"'));
    const catalog = (await g.admin('GET', '/catalog')).body;
    assert.deepEqual([catalog.inForce.number, catalog.scheduled, catalog.base, catalog.text], [1, null, 1, text]);
    assert.equal(await charge(), costNano({ input: 1_000, output: 100 }));
    const [{ sentence }] = await sentencesOf('catalog.price-source.read');
    assertReviewed('admin POST /catalog/price-source/read', sentence);
  });

  it('make nothing new when the source repeats them, and replace an older draft when it does not', async () => {
    assert.deepEqual(
      [(await readNow(g)).revision, (await g.admin('GET', '/catalog/revisions')).body.data.length],
      [2, 2],
    );
    assert.equal((await sentencesOf('catalog.price-source.read')).length, 1);
    source.price({ input_cost_per_token: 5e-6 });
    assert.equal((await readNow(g)).revision, 3);
    const old = await show(2);
    assert.equal(old.canceledBy, 'price source');
    assert.equal((await g.admin('POST', '/catalog/revisions/2/apply', {})).status, 409);
    assert.equal((await show(3)).canceledAt, null);
  });

  it('come into force when the draft is applied', async () => {
    const applied = await g.admin('POST', '/catalog/revisions/3/apply', {});
    assert.equal(applied.status, 200, JSON.stringify(applied.body));
    assert.equal(applied.body.number, 3);
    assert.notEqual(applied.body.appliedBy, null);
    assert.notEqual(applied.body.inForceAt, null);
    await inForce(3);
    assert.equal(await charge(), costNano({ input: 1_000, output: 100 }) + 2_000_000n);
    const [{ sentence }] = await sentencesOf('catalog.revisions.apply');
    assertReviewed('admin POST /catalog/revisions/:id/apply', sentence);
    assert.equal((await readNow(g)).outcome, 'unchanged');
    assert.equal((await g.admin('POST', '/catalog/revisions/3/apply', {})).status, 409);
    assert.equal((await g.admin('POST', '/catalog/revisions/99/apply', {})).status, 404);
  });

  it('do not come again after their draft was discarded', async () => {
    source.price({ input_cost_per_token: 6e-6 });
    assert.equal((await readNow(g)).revision, 4);
    const discarded = await g.admin('DELETE', '/catalog/revisions/4');
    assert.deepEqual([discarded.status, discarded.body.canceledAt === null], [200, false]);
    const again = await readNow(g);
    assert.deepEqual([again.outcome, again.revision], ['unchanged', 4]);
    assert.equal((await g.admin('DELETE', '/catalog/revisions/4')).status, 409);
  });

  it('withdraw their draft when the source returns to the present ones', async () => {
    source.price({ input_cost_per_token: 7e-6 });
    assert.equal((await readNow(g)).revision, 5);
    source.price({ input_cost_per_token: 5e-6 });
    assert.equal((await readNow(g)).outcome, 'unchanged');
    assert.notEqual((await show(5)).canceledAt, null);
    source.price({ input_cost_per_token: 7e-6 });
    assert.equal((await readNow(g)).revision, 6);
  });

  it('in a draft of an earlier catalog cannot be applied', async () => {
    source.price({ input_cost_per_token: 8e-6 });
    assert.equal((await readNow(g)).revision, 7);
    const { text: present } = (await g.admin('GET', '/catalog')).body;
    await put(g, `${present}# More.\n`);
    const late = await g.admin('POST', '/catalog/revisions/7/apply', {});
    assert.deepEqual([late.status, late.body.error.code], [409, 'catalog_outdated']);
    assert.equal((await readNow(g)).revision, 9);
  });

  it('come into force by themselves within the bound, and wait beyond it', async () => {
    source.price({ input_cost_per_token: 5e-6 });
    const { text: present } = (await g.admin('GET', '/catalog')).body;
    await put(g, present.replace('usdCny: "1"', 'usdCny: "1"\n  applyBelowPercent: 10'));
    source.price({ input_cost_per_token: 5.5e-6, output_cost_per_token: 1.2e-5 });
    const read = await readNow(g);
    assert.equal(read.outcome, 'applied');
    const revision = await show(read.revision);
    assert.deepEqual([revision.source, revision.reason], ['feed', `price source ${source.url}`]);
    await inForce(read.revision);
    assert.equal(await charge(), 5_500n * 1_000n + 12_000n * 100n);
    source.price({ input_cost_per_token: 5.6e-6, output_cost_per_token: 1e-5 });
    const beyond = await readNow(g);
    assert.deepEqual([beyond.outcome, (await g.admin('GET', '/catalog')).body.base], ['draft', read.revision]);
    const metrics = await (
      await fetch(`${g.url}/metrics`, { headers: { authorization: 'Bearer test-admin-token' } })
    ).text();
    assert.match(metrics, /^faregate_price_source_reads_total\{result="applied"\} 1$/m);
  });

  it('wait in a draft while a later revision is scheduled, which they would be undone by', async () => {
    const { base, text: present } = (await g.admin('GET', '/catalog')).body;
    const inForceAt = new Date(Date.now() + 3_600_000).toISOString();
    const scheduled = await g.admin('POST', '/catalog/revisions', { base, text: `${present}# Later.\n`, inForceAt });
    assert.equal(scheduled.status, 201);
    source.price({ input_cost_per_token: 5.6e-6, output_cost_per_token: 1.2e-5 });
    assert.equal((await readNow(g)).outcome, 'draft');
    assert.equal((await g.admin('DELETE', `/catalog/revisions/${scheduled.body.number}`)).status, 200);
  });

  it('are read from a file beside the configuration, and from no other', async () => {
    const file = join(dirname(g.configFile), 'prices.json');
    writeFileSync(
      file,
      JSON.stringify({ 'gpt-test': { ...ENTRY, input_cost_per_token: 5.5e-6, output_cost_per_token: 1.2e-5 } }),
    );
    const { base, text: present } = (await g.admin('GET', '/catalog')).body;
    await put(g, present.replace(`url: ${source.url}`, `file: ${file}`));
    assert.equal((await readNow(g)).outcome, 'unchanged');
    const foreign = await g.admin('POST', '/catalog/check', {
      base,
      text: present.replace(`url: ${source.url}`, 'file: /etc/passwd'),
    });
    assert.match(foreign.body.problems[0].message, /can use only files in/);
  });
});

describe('a price source that fails', { timeout: 180_000 }, () => {
  let stored: TestDatabase;
  let g: TestGateway;
  let source: Source;
  let receiver: Receiver;
  before(async () => {
    stored = await createTestDatabase();
    source = await startSource();
    receiver = await startReceiver();
    g = await start(stored, { priceSource: { intervalMs: 3_600_000, deadlineMs: 4_000 } });
    assert.equal((await g.admin('POST', '/webhooks', { url: receiver.url })).status, 201);
    await put(g, `${catalogText(g.provider.url)}${settingsOf(source.url)}`);
  });
  after(async () => {
    await g.stop();
    await stored.remove();
    await source.close();
    await receiver.close();
  });

  const failures: Readonly<Record<string, readonly [(response: ServerResponse) => void, RegExp]>> = {
    'is too large': [(response) => void response.end(Buffer.alloc(9 * 2 ** 20, ' ')), /larger than 8 MiB/],
    'says that it is too large': [
      (response) => void response.writeHead(200, { 'content-length': String(2 ** 40) }).write('{'),
      /larger than 8 MiB/,
    ],
    'redirects to a private address': [
      (response) => void response.writeHead(302, { location: 'http://169.254.169.254/latest/' }).end(),
      /redirects \(302\); redirects are not followed/,
    ],
    'is not JSON': [(response) => void response.end('<html>a secret page</html>'), /^The source is not JSON\.$/],
    'is no price file': [(response) => void response.end('{"a": {"b": 1}}'), /not a price file/],
    'is not text': [(response) => void response.end(Buffer.from([0xff, 0xfe, 0x00])), /not UTF-8/],
    'responds with an error': [(response) => void response.writeHead(500).end(), /status 500/],
    'is compressed': [
      (response) => void response.writeHead(200, { 'content-encoding': 'gzip' }).end('x'),
      /compressed/,
    ],
    'closes the connection': [(response) => void response.destroy(), /could not be reached/],
    'never ends': [(response) => void response.writeHead(200).write('{'), /took too long/],
  };

  for (const [name, [respond, message]] of Object.entries(failures)) {
    it(`${name}: the present prices stay`, async () => {
      source.respond = respond;
      const read = await readNow(g);
      assert.deepEqual([read.outcome, read.revision], ['failed', null]);
      assert.match(read.message, message);
      const { body } = await g.admin('GET', '/catalog/price-source');
      assert.deepEqual([body.lastRead.outcome, body.lastRead.message], ['failed', read.message]);
      assert.equal((await g.admin('GET', '/catalog/revisions')).body.data.length, 1);
    });
  }

  it('sends one notice to operators, and another one about new prices', async () => {
    await g.gateway.notices.settle();
    const about = (type: string) => receiver.received.filter(({ body }) => body.type === type);
    assert.equal(about('prices.failed').length, 1);
    assert.equal(about('prices.failed')[0]!.body.data.source, source.url);
    source.price({ input_cost_per_token: 4e-6 });
    assert.equal((await readNow(g)).outcome, 'draft');
    await readNow(g);
    await g.gateway.notices.settle();
    assert.deepEqual(
      about('prices.changed').map(({ body }) => body.data),
      [{ source: source.url, state: 'draft', revision: 2, changeCount: 1, changes: 'test-chat: input ¥3 → ¥4' }],
    );
  });

  it('has no prices that are negative, free, not numbers or absurd', async () => {
    const [{ number: draft }] = (await g.admin('GET', '/catalog/revisions')).body.data;
    assert.equal((await g.admin('DELETE', `/catalog/revisions/${draft}`)).status, 200);
    for (const input_cost_per_token of [-3e-6, 0, 'free', {}, '1e999', '9'.repeat(5_000_000), 1e300]) {
      source.price({ input_cost_per_token });
      const read = await readNow(g);
      assert.deepEqual([read.outcome, read.changes], ['unchanged', []], String(input_cost_per_token).slice(0, 20));
    }
  });

  it('is not reached on a private network that the operator does not allow', async () => {
    const before = source.requests;
    await using other = await start(stored, { noticeSettings: '' });
    const read = await readNow(other);
    assert.deepEqual([read.outcome, source.requests], ['failed', before]);
    assert.match(read.message, /not on the public internet/);
  });
});

describe('a price source of several nodes', { timeout: 120_000 }, () => {
  it('is read by one of them when that is due, and leads to one draft', async () => {
    const stored = await createTestDatabase();
    const source = await startSource();
    source.price({ input_cost_per_token: 4e-6 });
    const nodes = [
      await start(stored),
      await start(stored, { priceSource: { intervalMs: 5 } }),
      await start(stored, { priceSource: { intervalMs: 5 } }),
    ];
    try {
      await put(nodes[0]!, `${catalogText(nodes[0]!.provider.url)}${settingsOf(source.url)}`);
      const last = async () => (await nodes[0]!.admin('GET', '/catalog/price-source')).body.lastRead;
      await until(async () => (await last())?.outcome === 'draft');
      // Both nodes have found that nothing is due since, and two requests at once lead to the same draft.
      const asked = await Promise.all(nodes.map((node) => node.admin('POST', '/catalog/price-source/read')));
      assert.ok(asked.some(({ status }) => status === 200));
      for (const { status, body } of asked) assert.ok(status === 409 || body.revision === 2, JSON.stringify(body));
      const { data } = (await nodes[0]!.admin('GET', '/catalog/revisions')).body;
      assert.deepEqual(
        data.map(({ number, source: from }: { number: number; source: string }) => [number, from]),
        [
          [2, 'feed'],
          [1, 'push'],
        ],
      );
      assert.equal(source.requests, 1 + asked.filter(({ status }) => status === 200).length);
    } finally {
      for (const node of nodes.toReversed()) await node.stop();
      await stored.remove();
      await source.close();
    }
  });

  it('puts prices within the bound in force by itself, as the audit log says', async () => {
    const stored = await createTestDatabase();
    const source = await startSource();
    source.price({ input_cost_per_token: 3.3e-6 });
    const g = await start(stored, { priceSource: { intervalMs: 5 } });
    try {
      await put(g, `${catalogText(g.provider.url)}${settingsOf(source.url, 'applyBelowPercent: 10')}`);
      await until(async () => (await g.admin('GET', '/catalog')).body.inForce.number === 2);
      const followed = async () => (await g.admin('GET', '/changes?action=catalog.prices.follow')).body.data;
      await until(async () => (await followed()).length === 1);
      const [{ actor, sentence }] = await followed();
      assert.deepEqual([actor.kind, actor.name], ['configuration', 'price source']);
      assertReviewed('prices followed', sentence);
    } finally {
      await g.stop();
      await stored.remove();
      await source.close();
    }
  });
});

describe('a price source of a catalog in the file', { timeout: 120_000 }, () => {
  it('reports differences, and changes nothing', async () => {
    const source = await startSource();
    source.price({ input_cost_per_token: 4e-6 });
    const g = await startGateway({
      catalog: 'file',
      noticeSettings: `${LOOPBACK}\n${settingsOf(source.url)}`,
      priceSource: { intervalMs: 3_600_000 },
    });
    try {
      const read = await readNow(g);
      assert.deepEqual(
        [read.outcome, read.revision, textsOf(read.changes)],
        ['changed', null, ['test-chat: input ¥3 → ¥4']],
      );
      const { data } = (await g.admin('GET', '/catalog/revisions')).body;
      assert.deepEqual(
        data.map(({ source: from }: { source: string }) => from),
        ['file'],
      );
    } finally {
      await g.stop();
      await source.close();
    }
  });
});
