import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { parseYuan } from '../../src/lib/yuan.ts';
import { unitColumns } from '../../src/protocols/metering/usage-units.ts';
import type { RequestReport } from '../../src/requests/request-report.ts';
import { unitLabel } from '../../src/telemetry/call-metrics.ts';
import { metricRows } from '../../src/telemetry/metrics.ts';
import { CODING_CHAT, codingBody, createSubscriber, plansText, type Subscriber } from '../plans/coding.ts';
import { call, startCall } from '../support/client.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { alertRules, dashboard, namedMetrics } from '../support/deploy.ts';
import { ADMIN_TOKEN, startGateway, type TestAccount, type TestGateway } from '../support/gateway.ts';
import { type MetricsText, readMetrics } from '../support/openmetrics.ts';
import {
  chatCompletion,
  chatResponse,
  chatStream,
  json,
  liveResponse,
  messagesResponse,
  type Respond,
  sse,
} from '../support/provider.ts';
import { sql } from '../support/sql.ts';
import { until } from '../support/until.ts';

const CHAT = '/v1/chat/completions';
const hello = (model = 'test-chat', more: object = {}) => ({
  model,
  max_tokens: 50,
  messages: [{ role: 'user', content: 'Hello' }],
  ...more,
});
const EXACT_USAGE = {
  prompt_tokens: 40,
  completion_tokens: 9,
  prompt_tokens_details: { cached_tokens: 15 },
  completion_tokens_details: { reasoning_tokens: 4 },
};

describe('metrics of a node', () => {
  const reports: RequestReport[] = [];
  let stored: TestDatabase;
  let g: TestGateway;
  let account: TestAccount;
  let poor: TestAccount;
  let subscriber: Subscriber;
  let isClosed = false;

  before(async () => {
    stored = await createTestDatabase();
    g = await startGateway({
      stored,
      server: 'metrics: "127.0.0.1:0"',
      plans: plansText({ coding: { models: ['test-both'] } }),
      observers: [(report) => void reports.push(report)],
    });
    account = await g.createAccount();
    poor = await g.createAccount({ balanceYuan: '0' });
    subscriber = await createSubscriber(g, 'coding');
  });
  after(async () => {
    if (!isClosed) await g?.gateway.close();
    await g?.provider.close();
    await stored?.remove();
  });

  async function scrape(): Promise<MetricsText> {
    const response = await fetch(`${g.gateway.metricsUrl}/metrics`);
    assert.equal(response.status, 200);
    assert.equal(response.headers.get('content-type'), 'application/openmetrics-text; version=1.0.0; charset=utf-8');
    return readMetrics(await response.text());
  }

  /** Sends requests and waits for their reports. */
  async function reported(respond: Respond, requests: readonly (() => Promise<unknown>)[]): Promise<void> {
    g.provider.respond = respond;
    const before = reports.length;
    await Promise.all(requests.map((request) => request()));
    await until(() => reports.length >= before + requests.length);
  }

  const times = <Item>(count: number, item: Item): Item[] => Array<Item>(count).fill(item);
  const chat =
    (body: object, key = account.key) =>
    () =>
      call(g.url + CHAT, key, body);

  async function rows<Row>(text: string): Promise<Row[]> {
    return sql<Row>(g.database, text);
  }

  test('match the ledger and the call records exactly after calls of every kind', async () => {
    await reported(chatResponse(EXACT_USAGE), [
      ...times(7, chat(hello())),
      ...times(5, chat(hello('test-both', { stream: true }))),
      ...times(4, () => call(g.url + CODING_CHAT, subscriber.key, codingBody)),
      ...times(2, () => call(g.url + CODING_CHAT, subscriber.key, { ...codingBody, stream: true })),
    ]);
    await reported(
      messagesResponse({ input_tokens: 12, output_tokens: 8, cache_read_input_tokens: 5 }),
      times(3, () => call(`${g.url}/v1/messages`, account.key, hello('test-messages'))),
    );
    await reported(
      json(200, { results: [], usage: { total_tokens: 7 }, meta: { billed_units: { search_units: 3 } } }),
      [() => call(`${g.url}/v1/rerank`, account.key, { model: 'test-rerank-units', query: 'a', documents: ['b'] })],
    );
    // Streams without usage, failures of every kind, and refusals.
    await reported(sse(chatStream(['Hello'], null)), times(2, chat(hello('test-chat', { stream: true }))));
    await reported(json(500, { error: { message: 'broken' } }), times(3, chat(hello())));
    await reported(json(400, { error: { message: 'too odd', code: 'odd_code' } }), times(2, chat(hello())));
    await reported(sse(chatStream(['Hello']).slice(0, 2)), [chat(hello('test-chat', { stream: true }))]);
    await reported(json(200, chatCompletion(null)), [chat(hello())]);
    await reported(chatResponse(), [
      ...times(2, chat(hello(), poor.key)),
      ...times(3, chat(hello('a-model-that-is-not-there'))),
      chat(hello('test-chat', { max_tokens: 'many' })),
      chat(hello(), 'sk-fg-nobody'),
    ]);
    const live = liveResponse();
    await reported(live.respond, [
      async () => {
        const started = startCall(g.url + CHAT, account.key, hello('test-chat', { stream: true }));
        await live.opened;
        await live.write(chatStream(['Hello', 'there'])[0]!);
        await (await started.response).until('data:');
        started.drop();
      },
    ]);

    const metrics = await scrape();
    const calls = await rows<{ model: string; provider: string; status: string; code: string | null; n: bigint }>(
      'select model, provider, status, error_code as code, count(*) as n from calls group by 1, 2, 3, 4',
    );
    assert.ok(new Set(calls.map(({ status }) => status)).size === 3);
    const isKnown = (code: string | null): boolean =>
      code === null || metrics.sum('faregate_calls_total', { code }) > 0;
    for (const { model, provider, status, code, n } of calls) {
      const labels = { model, provider, status, code: code === null ? 'none' : isKnown(code) ? code : 'other' };
      assert.equal(metrics.sum('faregate_calls_total', labels), Number(n), JSON.stringify(labels));
    }
    const recorded = calls.reduce((sum, { n }) => sum + Number(n), 0);
    assert.deepEqual(metrics.by('faregate_calls_total', 'status'), {
      ...Object.fromEntries(
        Object.entries(Object.groupBy(calls, ({ status }) => status)).map(([status, same]) => [
          status,
          same!.reduce((sum, { n }) => sum + Number(n), 0),
        ]),
      ),
      refused: 7,
    });
    assert.equal(metrics.sum('faregate_call_duration_seconds_count'), recorded);
    assert.equal(metrics.sum('faregate_requests_total', { kind: 'call' }), recorded + 7);

    for (const { unit, column } of unitColumns) {
      const [sum] = await rows<{ n: bigint }>(`select coalesce(sum(${column}), 0)::bigint as n from calls`);
      const name =
        unit === 'reasoningTokens'
          ? 'faregate_reasoning_tokens_total'
          : unit === 'searchUnits'
            ? 'faregate_other_usage_total'
            : 'faregate_tokens_total';
      const labels =
        name === 'faregate_tokens_total'
          ? { kind: unitLabel(unit) }
          : name === 'faregate_other_usage_total'
            ? { unit: unitLabel(unit) }
            : {};
      assert.equal(metrics.sum(name, labels), Number(sum!.n), unit);
    }
    assert.ok(metrics.sum('faregate_tokens_total', { kind: 'cached_input' }) > 0);
    assert.equal(metrics.sum('faregate_other_usage_total', { unit: 'search_units' }), 1);
    // The provider reported three search units, and one document can only cost one.
    assert.equal(metrics.sum('faregate_calls_excess_usage_total'), 1);

    const [charged] = await rows<{ nano: bigint }>(
      `select -sum(amount_nano)::bigint as nano from ledger_entries where kind = 'charge'`,
    );
    const chargedNano = metrics.samples
      .filter(({ name }) => name === 'faregate_charged_yuan_total')
      .reduce((sum, { value }) => sum + parseYuan(value)!, 0n);
    assert.equal(chargedNano, charged!.nano);
    assert.ok(chargedNano > 0n);

    assert.equal(metrics.sum('faregate_streams_without_usage_total', { model: 'test-chat', provider: 'chatty' }), 2);
    assert.equal(metrics.sum('faregate_calls_estimated_total'), 4);
    assert.ok(metrics.sum('faregate_provider_failures_total', { provider: 'chatty', code: 'upstream_error' }) > 0);
    assert.ok(metrics.sum('faregate_response_chunks_total') > 0);
  });

  test('contain no account, key or client text', async () => {
    const text = await (await fetch(`${g.gateway.metricsUrl}/metrics`)).text();
    for (const secret of [account.id, account.keyId, account.key, 'a-model-that-is-not-there', 'odd_code', 'sk-fg-']) {
      assert.ok(!text.includes(secret), secret);
    }
    assert.match(
      text,
      /faregate_calls_total\{model="other",provider="none",status="refused",code="model_not_found"\} 3\n/,
    );
  });

  test('include every documented metric, with the figures of the node', async () => {
    const metrics = await scrape();
    for (const { name, type } of metricRows) assert.equal(metrics.types.get(name.replace(/_total$/, '')), type, name);
    assert.ok(metrics.types.has('process_resident_memory_bytes'));
    const [build] = metrics.samples.filter(({ name }) => name === 'faregate_build_info');
    assert.deepEqual(build!.labels, { ...build!.labels, engine: 'postgresql', node_version: process.version });
    for (const name of ['ready', 'database_up', 'notifications_connected', 'journal_writable', 'config_in_force']) {
      assert.equal(metrics.sum(`faregate_${name}`), 1, name);
    }
    const closed = { model: 'test-chat', provider: 'chatty', provider_model: 'upstream-chat', state: 'closed' };
    assert.equal(metrics.sum('faregate_route_breaker_state', closed), 1);
    assert.equal(metrics.sum('faregate_route_breaker_state', { ...closed, state: 'open' }), 0);
    assert.equal(metrics.sum('faregate_provider_credentials', { provider: 'chatty', state: 'active' }), 1);
    assert.ok(metrics.sum('faregate_admission_batch_calls_sum') >= metrics.sum('faregate_admission_batch_calls_count'));
    assert.equal(
      metrics.sum('faregate_admission_duration_seconds_count'),
      metrics.sum('faregate_admission_batch_calls_sum'),
    );
    assert.equal(
      metrics.sum('faregate_settlement_duration_seconds_count', { place: 'database' }),
      metrics.sum('faregate_settlement_batch_calls_sum'),
    );
    assert.ok(metrics.sum('faregate_database_statements_total', { lane: 'batches' }) > 0);
  });

  test('include every metric that the alert rules and the dashboard use', async () => {
    const { samples, types } = await scrape();
    const names = new Set(samples.map(({ name }) => name));
    const isExported = (name: string): boolean => names.has(name) || types.has(name.replace(/_total$/, ''));
    const expressions = [
      ...alertRules().map(({ expr }) => expr),
      ...dashboard().panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr)),
    ];
    assert.deepEqual(
      expressions.flatMap(namedMetrics).filter((name) => !isExported(name)),
      [],
    );
  });

  test('show calls in flight', async () => {
    const live = liveResponse();
    g.provider.respond = live.respond;
    const started = startCall(g.url + CHAT, account.key, hello('test-chat', { stream: true }));
    await live.opened;
    const during = await scrape();
    assert.equal(during.sum('faregate_reservations_open'), 1);
    assert.equal(during.sum('faregate_provider_calls_in_flight', { provider: 'chatty' }), 1);
    assert.ok(during.sum('faregate_requests_in_flight') >= 1);
    for (const chunk of chatStream(['Hello'])) await live.write(chunk);
    live.end();
    await (await started.response).ended();
    await account.endedCall();
    await until(async () => (await scrape()).sum('faregate_reservations_open') === 0);
  });

  test('require an admin token at the public address, where guesses are throttled', async () => {
    const get = (headers: Record<string, string>, method = 'GET') => fetch(`${g.url}/metrics`, { method, headers });
    for (const headers of [{}, { authorization: 'Bearer guess' }, { authorization: `Bearer ${account.key}` }]) {
      const refused = await get(headers as Record<string, string>);
      assert.equal(refused.status, 401);
      assert.equal(((await refused.json()) as { error: { code: string } }).error.code, 'invalid_api_key');
    }
    const authorization = `Bearer ${ADMIN_TOKEN}`;
    const allowed = await get({ authorization });
    assert.equal(allowed.status, 200);
    readMetrics(await allowed.text());
    assert.equal((await get({ authorization }, 'HEAD')).status, 200);
    const wrong = await get({ authorization }, 'POST');
    assert.deepEqual([wrong.status, wrong.headers.get('allow')], [405, 'GET, HEAD']);
    // The admin API's throttle: it refuses 20 guesses a second at once.
    const guesses: Promise<Response>[] = [];
    await until(async () => {
      // A guess is delayed by at most a second, so each poll sends new ones.
      guesses.push(...times(40, () => get({ authorization: 'Bearer guess' })).map((guess) => guess()));
      return (await scrape()).sum('faregate_refusals_delayed') > 0;
    });
    for (const response of await Promise.all(guesses)) assert.equal(response.status, 401);
  });

  test('have a separate address that serves only metrics and health', async () => {
    const status = async (path: string, method = 'GET') => {
      const response = await fetch(g.gateway.metricsUrl + path, { method });
      await response.text();
      return response.status;
    };
    assert.deepEqual(
      await Promise.all(['/metrics', '/healthz', '/readyz', '/'].map((path) => status(path))),
      [200, 200, 200, 200],
    );
    assert.deepEqual(
      await Promise.all(['/admin/v1/routes', '/v1/models', '/v1/user/balance'].map((path) => status(path))),
      [404, 404, 404],
    );
    assert.equal(await status('/metrics', 'DELETE'), 405);
  });

  test('show whether the configuration file is in use', async () => {
    g.gateway.configDecided(false);
    assert.equal((await scrape()).sum('faregate_config_in_force'), 0);
    g.gateway.configDecided(true);
    assert.equal((await scrape()).sum('faregate_config_in_force'), 1);
  });

  test('are served during shutdown until the last call is counted', async () => {
    const live = liveResponse();
    g.provider.respond = live.respond;
    const started = startCall(g.url + CHAT, account.key, hello('test-chat', { stream: true }));
    await live.opened;
    const count = (metrics: MetricsText) => metrics.sum('faregate_calls_total', { status: 'succeeded' });
    const before = count(await scrape());
    // The node's last statement, after the settlement of all calls.
    g.observed.statement('nodes.leave').hold();
    const closed = g.gateway.close();
    isClosed = true;
    assert.equal((await fetch(`${g.gateway.metricsUrl}/readyz`)).status, 503);
    assert.equal((await scrape()).sum('faregate_ready'), 0);
    for (const chunk of chatStream(['Hello'])) await live.write(chunk);
    live.end();
    assert.ok(await (await started.response).ended());
    await g.observed.statement('nodes.leave').reached(1);
    assert.equal(count(await scrape()), before + 1);
    const { metricsUrl } = g.gateway;
    g.observed.statement('nodes.leave').release();
    await closed;
    await assert.rejects(fetch(`${metricsUrl}/metrics`));
  });
});
