import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { after, before, describe, it } from 'node:test';
import { seededRandom } from '../../src/lib/seeded-random.ts';
import { call } from '../support/client.ts';
import { type Family, families, requestOf } from '../support/families.ts';
import { assertSpent, costNano, PRICE, startGateway, type TestAccount, type TestGateway } from '../support/gateway.ts';
import { json, type Respond, type ScriptedProvider, sse, startProvider } from '../support/provider.ts';
import { until } from '../support/until.ts';

/**
 * Concurrent calls of models with `keepAlive`, `retry` and `fallbacks`, over providers that mishandle half of their requests. Afterwards,
 * each account has paid exactly for the responses that its client got, and nothing is reserved.
 */

const CALLS = 300;
const CONCURRENCY = 20;
const SEED = 20_261_130;
const PRICES = { first: 1n, second: 10n, third: 100n } as const;
type ModelName = keyof typeof PRICES;

describe('further attempts and fallbacks over faulty providers', { timeout: 120_000 }, () => {
  let gateway: TestGateway;
  let faulty: ScriptedProvider;
  const random = seededRandom(SEED);
  const silent: ServerResponse[] = [];

  before(async () => {
    faulty = await startProvider();
    const settings = [
      'keepAlive: { before: 10ms }',
      'retry: { on: [500, 502, 503, timeout, reset, silence], within: 2, firstByte: 1s }',
    ];
    const model = (name: ModelName, more: readonly string[]): string => {
      const price = PRICE.replaceAll(/"([\d.]+)"/g, (_, yuan) => `"${Number(yuan) * Number(PRICES[name])}"`);
      const routes = ['chat', 'messages'].map((protocol) => `{ provider: faulty-${protocol}, model: ${name} }`);
      return `
  ${name}: { operations: [chat, messages], maxOutputTokens: "100", price: ${price}, routes: [${routes}], ${more.join(', ')} }`;
    };
    const timeouts = 'timeouts: { firstByte: 3s }';
    gateway = await startGateway({
      providers: `
  faulty-chat: { protocol: chat, baseUrl: "${faulty.url}/v1", apiKey: faulty-secret-key-1, ${timeouts} }
  faulty-messages: { protocol: messages, baseUrl: "${faulty.url}", apiKey: faulty-secret-key-2, ${timeouts} }`,
      models: [
        model('first', [...settings, 'fallbacks: [second, third], fallbackOn: [unavailable, context, filter]']),
        model('second', settings.slice(1)),
        model('third', []),
      ].join(''),
    });
    faulty.respond = (request, response) => {
      const family = families.find(({ path }) => path.endsWith(request.path.replace('/v1', '')))!;
      return drawn(family)(request, response);
    };
  });
  after(async () => {
    for (const response of silent) response.destroy();
    await gateway?.stop();
    await faulty?.close();
  });

  /** Half of the requests succeed. Each of the others fails in one of these ways. */
  function drawn(family: Family): Respond {
    const succeed: Respond = (request, response) => {
      const { stream } = JSON.parse(request.body.toString()) as { stream?: boolean };
      return (stream ? sse(family.stream(['Hello'])) : json(200, family.whole()))(request, response);
    };
    const failures: readonly Respond[] = [
      ...[500, 502, 503, 429, 403].map((status) => json(status, { error: { message: 'No.' } })),
      json(400, { error: { message: 'prompt is too long' } }),
      json(400, { error: { message: 'No.', code: 'content_filter' } }),
      (_request, response) => void response.socket!.resetAndDestroy(),
      (_request, response) => void silent.push(response),
    ];
    return random() < 0.5 ? succeed : failures[Math.floor(random() * failures.length)]!;
  }

  it(`${CALLS} calls: each is charged once, at the price of the model that served it, or not at all`, async (t) => {
    const accounts = await Promise.all(Array.from({ length: 8 }, () => gateway.createAccount()));
    const outcomes = new Map<TestAccount, Outcome[]>(accounts.map((account) => [account, []]));
    const counts: Record<string, number> = {};
    let started = 0;

    async function makeCalls(): Promise<void> {
      while (started < CALLS) {
        const number = started++;
        const account = accounts[number % accounts.length]!;
        const body = requestOf(random() < 0.5, 'first');
        const response = await call(gateway.url + families[number % 2]!.path, account.key, body);
        const { 'x-faregate-call-id': callId, 'x-faregate-model': model } = response.headers;
        if (callId === undefined) {
          // On a slow machine, the database may be too late to admit a call.
          assert.match(response.text, /database does not respond in time/);
          continue;
        }
        const hasFailed = response.status !== 200 || /"error":/.test(response.text);
        outcomes.get(account)!.push({ callId: String(callId), hasFailed, model: hasFailed ? undefined : model });
      }
    }

    await Promise.all(Array.from({ length: CONCURRENCY }, makeCalls));
    for (const [account, made] of outcomes) {
      // If the database is late, the end of a call waits in the journal.
      let records: readonly CallRecord[] = [];
      await until(async () => {
        records = (await gateway.admin('GET', `/calls?accountId=${account.id}&limit=100`)).body.data;
        return records.length >= made.length && (await account.money()).heldNano === 0n;
      });
      assert.equal(records.length, made.length);
      let spentNano = 0n;
      for (const { callId, hasFailed, model } of made) {
        const record = records.find(({ id }) => id === callId)!;
        assert.equal(record.status, hasFailed ? 'failed' : 'succeeded', JSON.stringify(record));
        // A stream that opened early does not name its model.
        if (model !== undefined) assert.equal(model, record.model);
        assert.equal(record.fallback?.asked ?? record.model, 'first');
        const lost = record.attempts.filter(({ isLost }) => isLost).length;
        assert.ok(lost <= 4, JSON.stringify(record.attempts));
        if (!hasFailed) spentNano += PRICES[record.model] * costNano({ input: 11, output: 7 });
        const what = `${hasFailed ? 'failed' : record.model}${lost > 0 ? ', after a lost attempt' : ''}`;
        counts[what] = (counts[what] ?? 0) + 1;
      }
      await assertSpent(account, spentNano);
    }
    for (const [what, count] of Object.entries(counts)) t.diagnostic(`${count} ${what}`);
    const seen = (pattern: RegExp) => Object.keys(counts).some((what) => pattern.test(what));
    for (const what of [/^first$/, /^second/, /^third/, /^failed/, /^first, after/]) {
      assert.ok(seen(what), `${what}: ${JSON.stringify(counts)}`);
    }
  });
});

interface Outcome {
  readonly callId: string;
  readonly hasFailed: boolean;
  /** The model that the response names. */
  readonly model: string | string[] | undefined;
}

interface CallRecord {
  readonly id: string;
  readonly status: string;
  readonly model: ModelName;
  readonly fallback: { readonly asked: string } | null;
  readonly attempts: readonly { readonly isLost: boolean }[];
}
