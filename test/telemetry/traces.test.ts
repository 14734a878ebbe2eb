import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, test } from 'node:test';
import { missingPackages } from '../../src/telemetry/span-exporter.ts';
import { CANARIES, formsOf } from '../support/canaries.ts';
import { call } from '../support/client.ts';
import { costNano, startGateway, type TestAccount, type TestGateway } from '../support/gateway.ts';
import { type OtlpReceiver, type ReceivedSpan, startOtlpReceiver } from '../support/otlp.ts';
import { chatResponse, json, type ScriptedProvider, startProvider } from '../support/provider.ts';
import { recordLogs } from '../support/recorded-logger.ts';
import { until } from '../support/until.ts';

const CHAT = '/v1/chat/completions';
const hello = (model = 'test-chat', more: object = {}) => ({
  model,
  messages: [{ role: 'user', content: 'Say hello.' }],
  ...more,
});
const [INTERNAL, SERVER, CLIENT] = [1, 2, 3];
const ERROR = 2;
const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';
const SPAN = '00f067aa0ba902b7';
const MODEL_ASKED = 'no-such-model-7f3a';
const COLLECTOR_SECRET = 'collector-secret-1';

describe('traces of calls', () => {
  const logs = recordLogs();
  let receiver: OtlpReceiver;
  let joined: ScriptedProvider;
  let g: TestGateway;
  let account: TestAccount;
  let poor: TestAccount;

  before(async () => {
    receiver = await startOtlpReceiver();
    joined = await startProvider();
    g = await startGateway({
      logger: logs.logger,
      tracing: `{ endpoint: "${receiver.url}", serviceName: gate, headers: { x-collector: ${COLLECTOR_SECRET} } }`,
      providers: `
  joined: { protocol: chat, baseUrl: "${joined.url}/v1", apiKey: provider-secret-key-3, traceContext: pass }
  gone: { protocol: chat, baseUrl: "http://127.0.0.1:1/v1", apiKey: provider-secret-key-4 }`,
      models: `
  test-joined: { operations: [chat], price: { input: "3", output: "13" }, routes: [{ provider: joined, model: at-joined }] }
  test-over:
    operations: [chat]
    price: { input: "3", output: "13" }
    routes: [{ provider: gone, model: at-gone, priority: 0 }, { provider: joined, model: at-joined, priority: 1 }]`,
    });
    account = await g.createAccount();
    poor = await g.createAccount({ balanceYuan: '0' });
  });
  after(async () => {
    try {
      await g?.stop();
    } finally {
      await joined?.close();
      await receiver?.close();
    }
  });
  beforeEach(() => {
    g.provider.respond = chatResponse();
    joined.respond = chatResponse();
    receiver.spans.length = 0;
    receiver.status = 200;
  });

  /** Runs a call, and waits until the span of its request has arrived; the spans of a call come together. */
  async function traced(body: object, headers: Record<string, string> = {}, key = account.key) {
    const response = await call(g.url + CHAT, key, body, { headers });
    await until(() => receiver.spans.some(({ kind }) => kind === SERVER));
    const root = receiver.spans.find(({ kind }) => kind === SERVER)!;
    const children = receiver.spans.filter((span) => span !== root);
    for (const child of children) {
      assert.equal(child.traceId, root.traceId);
      assert.equal(child.parentSpanId, root.spanId);
      assert.ok(root.startNano <= child.endNano && child.startNano <= child.endNano && child.endNano <= root.endNano);
    }
    return { response, root, children, attempts: children.filter(({ kind }) => kind === CLIENT) };
  }

  const names = (spans: readonly ReceivedSpan[]) => spans.map(({ name, kind }) => [name, kind]);

  test('a call has spans for its request, admission, attempt and settlement', async () => {
    const { response, root, children, attempts } = await traced(hello());
    assert.equal(response.status, 200);
    const record = await account.lastCall();
    assert.deepEqual(receiver.resource['service.name'], 'gate');
    const last = receiver.requests.at(-1)!;
    assert.equal(last.path, '/v1/traces');
    assert.equal(last.headers['x-collector'], COLLECTOR_SECRET);
    assert.deepEqual(names([root]), [['chat test-chat', SERVER]]);
    const { 'faregate.request_id': requestId, ...attributes } = root.attributes;
    assert.equal(typeof requestId, 'string');
    assert.deepEqual(attributes, {
      'gen_ai.operation.name': 'chat',
      'gen_ai.provider.name': 'chatty',
      'gen_ai.request.model': 'test-chat',
      'gen_ai.usage.input_tokens': 11,
      'gen_ai.usage.output_tokens': 7,
      'http.request.method': 'POST',
      'http.route': CHAT,
      'http.response.status_code': 200,
      'faregate.call_id': record.id,
      'faregate.account_id': account.id,
      'faregate.key_id': account.keyId,
      'faregate.context': 'balance',
      'faregate.end': 'succeeded',
      'faregate.is_stream': false,
      'faregate.provider_model': 'upstream-chat',
      'faregate.usage_source': 'observed',
      'faregate.charge_yuan': record.chargeYuan,
    });
    assert.equal(root.parentSpanId, undefined);
    assert.equal(root.statusCode, 0);
    assert.deepEqual(names(children), [
      ['admission', INTERNAL],
      ['chat upstream-chat', CLIENT],
      ['settlement', INTERNAL],
    ]);
    const [attempt] = attempts;
    assert.deepEqual(attempt!.attributes, {
      'gen_ai.operation.name': 'chat',
      'gen_ai.provider.name': 'chatty',
      'gen_ai.request.model': 'upstream-chat',
      'server.address': '127.0.0.1',
      'server.port': Number(new URL(g.provider.url).port),
    });
    assert.ok(attempt!.endNano <= children[2]!.startNano);
    assert.equal(g.provider.requests.at(-1)!.headers.traceparent, undefined);
  });

  test("a stream's attempt has an event for the first byte", async () => {
    const { root, attempts } = await traced(hello('test-chat', { stream: true }));
    assert.equal(root.attributes['faregate.is_stream'], true);
    const [attempt] = attempts;
    assert.deepEqual(
      attempt!.events.map(({ name }) => name),
      ['first byte'],
    );
    const { atNano } = attempt!.events[0]!;
    assert.ok(attempt!.startNano <= atNano && atNano <= attempt!.endNano);
  });

  test('a refused call has one span, with the error code and no client text', async () => {
    const refused = await traced(hello(), {}, poor.key);
    assert.equal(refused.response.status, 402);
    assert.equal(refused.root.attributes['http.response.status_code'], 402);
    assert.equal(refused.root.attributes['error.type'], refused.response.json.error.code);
    assert.equal(refused.root.statusCode, 0);
    assert.deepEqual(refused.children, []);
    receiver.spans.length = 0;
    const unknown = await traced(hello(MODEL_ASKED));
    assert.equal(unknown.root.name, 'chat');
    assert.equal(unknown.root.attributes['error.type'], 'model_not_found');
  });

  test("a failed call's span is an error", async () => {
    g.provider.respond = json(500, { error: { message: 'It broke.' } });
    const { response, root, attempts } = await traced(hello());
    assert.ok(response.status >= 500);
    assert.equal(root.statusCode, ERROR);
    assert.equal(root.attributes['faregate.end'], 'failed');
    assert.equal(attempts.length, 1);
    assert.equal(attempts[0]!.statusCode, ERROR);
    assert.equal(attempts[0]!.attributes['error.type'], root.attributes['error.type']);
  });

  test("a failover has a span for each attempt, and the second provider's spans are below the second attempt", async () => {
    const { root, attempts } = await traced(hello('test-over'));
    assert.deepEqual(
      attempts.map(({ name, statusCode }) => [name, statusCode]),
      [
        ['chat at-gone', ERROR],
        ['chat at-joined', 0],
      ],
    );
    assert.ok(attempts[0]!.attributes['error.type']);
    assert.deepEqual(attempts[0]!.events, []);
    assert.equal(attempts[1]!.events.length, 1);
    const { headers } = joined.requests.at(-1)!;
    assert.equal(headers.traceparent, `00-${root.traceId}-${attempts[1]!.spanId}-01`);
    assert.equal(headers.tracestate, undefined);
  });

  test("a call with a traceparent is a child of the client's span, and passes the context on if configured", async () => {
    const headers = { traceparent: `00-${TRACE}-${SPAN}-01`, tracestate: 'vendor=1' };
    const { root, attempts } = await traced(hello('test-joined'), headers);
    assert.equal(root.traceId, TRACE);
    assert.equal(root.parentSpanId, SPAN);
    const sent = joined.requests.at(-1)!.headers;
    assert.equal(sent.traceparent, `00-${TRACE}-${attempts[0]!.spanId}-01`);
    assert.equal(sent.tracestate, 'vendor=1');
    receiver.spans.length = 0;
    await traced(hello(), headers);
    const other = g.provider.requests.at(-1)!.headers;
    assert.deepEqual([other.traceparent, other.tracestate], [undefined, undefined]);
  });

  test('a call whose client does not sample has no spans, and its context is passed on unchanged', async () => {
    const unsampled = `${TRACE.slice(1)}f`;
    const headers = { traceparent: `00-${unsampled}-${SPAN}-00` };
    await call(g.url + CHAT, account.key, hello('test-joined'), { headers });
    assert.equal(joined.requests.at(-1)!.headers.traceparent, headers.traceparent);
    // The next one is sampled: if its spans have come, those of the first would have.
    const { root } = await traced(hello());
    assert.notEqual(root.traceId, unsampled);
    assert.equal(receiver.spans.filter(({ traceId }) => traceId === unsampled).length, 0);
  });

  test('an invalid traceparent starts a new trace', async () => {
    const traceparent = `01-${TRACE}-${SPAN}-01-${'x'.repeat(4_000)}`;
    const { root } = await traced(hello('test-joined'), { traceparent, tracestate: 'vendor=1' });
    assert.notEqual(root.traceId, TRACE);
    assert.equal(root.parentSpanId, undefined);
    assert.equal(joined.requests.at(-1)!.headers.tracestate, undefined);
  });

  test('exports contain no prompt, response or key', () => {
    const bytes = receiver.bytes();
    assert.ok(bytes.includes('chat test-chat') && bytes.includes('model_not_found'));
    for (const secret of [...CANARIES, account.key, poor.key, MODEL_ASKED]) {
      for (const form of formsOf(secret)) assert.ok(!bytes.includes(form), `a span contains ${secret}`);
    }
  });

  test('a receiver that refuses spans or is down affects no call, and is logged once', async () => {
    receiver.status = 400;
    const before = await account.money();
    const warnings = () => logs.lines.filter(({ message }) => message.startsWith('failed to export spans'));
    assert.equal((await call(g.url + CHAT, account.key, hello())).status, 200);
    await until(() => warnings().length > 0);
    const exports = receiver.requests.length;
    assert.equal((await call(g.url + CHAT, account.key, hello())).status, 200);
    await until(() => receiver.requests.length > exports);
    await receiver.close();
    assert.equal((await call(g.url + CHAT, account.key, hello())).status, 200);
    await until(async () => {
      const { balanceNano, heldNano } = await account.money();
      return heldNano === 0n && before.balanceNano - balanceNano === 3n * costNano({ input: 11, output: 7 });
    });
    assert.equal(warnings().length, 1);
    assert.ok(!logs.text().includes(COLLECTOR_SECRET));
  });
});

describe('a gateway without traces', () => {
  test("passes the client's context on unchanged if configured, and creates none", async () => {
    await using g = await startGateway({ providerFields: 'traceContext: pass' });
    const account = await g.createAccount();
    const headers = { traceparent: `00-${TRACE}-${SPAN}-01`, tracestate: 'vendor=1' };
    await call(g.url + CHAT, account.key, hello(), { headers });
    await call(g.url + CHAT, account.key, hello());
    await call(g.url + CHAT, account.key, hello(), { headers: { traceparent: `00-${TRACE}-0-01` } });
    assert.deepEqual(
      g.provider.requests.map(({ headers: sent }) => [sent.traceparent, sent.tracestate]),
      [
        [headers.traceparent, 'vendor=1'],
        [undefined, undefined],
        [undefined, undefined],
      ],
    );
  });

  test('reports which missing packages to install', () => {
    const missing = Object.assign(new Error('Cannot find package'), { code: 'ERR_MODULE_NOT_FOUND' });
    assert.match(String(missingPackages(missing)), /"tracing".*npm install --no-save @opentelemetry\/api /);
    const other = new Error('else');
    assert.equal(missingPackages(other), other);
  });
});
