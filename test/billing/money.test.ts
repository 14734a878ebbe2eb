import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, test } from 'node:test';
import { formatYuan } from '../../src/lib/yuan.ts';
import { type ClientResponse, call } from '../support/client.ts';
import { createTestClock, type TestClock } from '../support/clock.ts';
import { costNano, startGateway, type TestAccount, type TestGateway } from '../support/gateway.ts';
import {
  chatCompletion,
  chatResponse,
  json,
  messagesResponse,
  type Respond,
  type ScriptedProvider,
} from '../support/provider.ts';

/** What an account pays, to the nano-yuan, and when a call is refused for lack of money. */

const CHAT = { path: '/v1/chat/completions', model: 'test-chat' };

const bodyOf = (model: string, more: object = {}): object => ({
  model,
  max_tokens: 100,
  messages: [{ role: 'user', content: 'Hello' }],
  ...more,
});

/** Responses of either family with the same usage: 10 input and 20 output tokens. */
const USAGE = { input: 10, output: 20 };
const COST_NANO = costNano(USAGE);
const responseAll: Respond = (request, response) =>
  (request.path.endsWith('/messages')
    ? messagesResponse({ input_tokens: USAGE.input, output_tokens: USAGE.output })
    : chatResponse({ prompt_tokens: USAGE.input, completion_tokens: USAGE.output, total_tokens: 30 }))(
    request,
    response,
  );

/** Holds the provider's responses until a test releases them. */
function holdResponses(provider: ScriptedProvider, respond: Respond = responseAll): () => void {
  const gate = Promise.withResolvers<void>();
  provider.respond = async (request, response) => {
    await gate.promise;
    await respond(request, response);
  };
  return gate.resolve;
}

const MODELS = `
  test-free:
    operations: [chat]
    price: { input: "0", output: "0" }
    routes: [{ provider: chatty, model: free }]
  test-half:
    operations: [chat]
    price: { input: "0.0005", output: "0" }
    routes: [{ provider: chatty, model: half }]
  test-peak:
    operations: [chat, messages]
    price:
      input: "1"
      output: "1"
      timeOfDay:
        id: cn-day
        timezone: Asia/Shanghai
        peak: { hours: ["09:00-21:00"], input: "7", output: "17" }
        offPeak: { input: "2", output: "5" }
    routes: [{ provider: chatty, model: peak }, { provider: messy, model: peak }]
`;

let clock: TestClock;
let g: TestGateway;

const send = (account: TestAccount, { path, model }: { path: string; model: string }, more: object = {}) => {
  // Ids sort by time, so calls that are listed newest first need different times.
  clock.advance(1);
  return call(g.url + path, account.key, bodyOf(model, more));
};

async function money(account: TestAccount) {
  const { body } = await g.admin('GET', `/accounts/${account.id}`);
  return { balance: body.balanceYuan, held: body.heldYuan, spentToday: body.spentTodayYuan };
}

async function ledger(account: TestAccount) {
  const { body } = await g.admin('GET', `/accounts/${account.id}/ledger?limit=500`);
  return body.data;
}

/** `isHeld`: the money is only reserved by calls in flight, so the client is asked to retry. */
function assertMoneyRefusal(response: ClientResponse, status: number, code: string, isHeld = false): void {
  assert.equal(response.status, status, response.text);
  assert.equal(response.headers['x-should-retry'], String(isHeld));
  if (isHeld) {
    assert.equal(response.headers['retry-after'], '2');
    assert.match(
      response.json.error.message,
      /reserved by calls in flight|Calls in flight have reserved part of this limit/,
    );
  }
  assert.equal(response.headers['x-error-code'], code);
  const { error } = response.json;
  assert.deepEqual([error.type, error.code, error.param], ['insufficient_quota', code, null]);
}

const setUp = (options: { billing?: string } = {}): void => {
  before(async () => {
    clock = createTestClock('2026-11-20T04:00:00Z');
    g = await startGateway({ clock, models: MODELS, ...options });
  });
  beforeEach(() => {
    g.provider.respond = responseAll;
  });
  after(() => g?.stop());
};

describe(`money`, { timeout: 60_000 }, () => {
  setUp();

  test('a charge is rounded once, half up, to a nano-yuan', async () => {
    for (const [tokens, charged] of [
      [1, '0.000000001'],
      [2, '0.000000001'],
      [3, '0.000000002'],
      [5, '0.000000003'],
    ] as const) {
      g.provider.respond = json(200, chatCompletion({ prompt_tokens: tokens, completion_tokens: 9 }));
      const account = await g.createAccount();
      await send(account, { ...CHAT, model: 'test-half' });
      assert.equal((await account.lastCall()).chargeYuan, charged, `${tokens} tokens`);
    }
  });

  test('a charge of nothing is still a ledger entry', async () => {
    const account = await g.createAccount({ balanceYuan: '1' });
    assert.equal((await send(account, { ...CHAT, model: 'test-free' })).status, 200);
    const record = await account.lastCall();
    assert.equal(record.chargeYuan, '0');
    const entries = await ledger(account);
    assert.equal(entries.length, 2);
    assert.deepEqual(
      [entries[0].kind, entries[0].amountYuan, entries[0].balanceAfterYuan, entries[0].callId],
      ['charge', '0', '1', record.id],
    );
  });

  test('a call of an alias is charged and recorded as one of the model', async () => {
    const account = await g.createAccount();
    assert.equal((await send(account, { ...CHAT, model: 'test-chat-latest' })).status, 200);
    const record = await account.lastCall();
    assert.equal(record.model, 'test-chat');
    assert.deepEqual(record.route, { provider: 'chatty', model: 'upstream-chat' });
    assert.equal(record.chargeYuan, formatYuan(COST_NANO));
    assert.equal(JSON.parse(g.provider.requests.at(-1)!.body.toString()).model, 'upstream-chat');
  });

  test('a charge has the price of the admission, like the reservation, when the hours change while the call runs', async () => {
    for (const path of [CHAT.path, '/v1/messages']) {
      for (const [at, rule, input, output, next] of [
        ['2026-11-20T12:59:59.900Z', 'peak', 7_000, 17_000, '2026-11-20T13:00:00.100Z'],
        ['2026-11-21T00:59:59.900Z', 'off_peak', 2_000, 5_000, '2026-11-21T01:00:00.100Z'],
      ] as const) {
        const account = await g.createAccount();
        clock.set(at);
        const letGo = holdResponses(g.provider);
        const received = g.provider.requests.length + 1;
        const running = send(account, { path, model: 'test-peak' }, { max_tokens: 20 });
        await g.provider.received(received);
        const bodyBytes = Buffer.byteLength(JSON.stringify(bodyOf('test-peak', { max_tokens: 20 })));
        const held = BigInt(Math.ceil(bodyBytes / 4) * input + 20 * output);
        assert.equal((await account.money()).heldNano, held);
        clock.set(next);
        letGo();
        assert.equal((await running).status, 200);
        const record = await account.lastCall();
        assert.equal(record.chargeYuan, formatYuan(BigInt(USAGE.input * input + USAGE.output * output)));
        assert.equal(record.price.rule, rule);
        assert.equal(record.price.inputYuanPerMillion, String(input / 1_000));
        assert.equal(record.price.outputYuanPerMillion, String(output / 1_000));

        await send(account, { path, model: 'test-peak' });
        assert.equal((await account.lastCall()).price.rule, rule === 'peak' ? 'off_peak' : 'peak');
      }
    }
  });

  test('a reservation is the most that a call may cost: its input by size, its output by the largest stated limit, within that of the model', async () => {
    for (const [more, outputTokens] of [
      [{ max_tokens: 10 }, 10],
      [{ max_tokens: 5_000 }, 100],
      [{ max_tokens: null }, 100],
      [{ max_tokens: 10, n: 3 }, 30],
      [{ max_tokens: null, n: 3 }, 300],
      [{ max_tokens: 90, max_completion_tokens: 40 }, 90],
      [{ max_tokens: 0 }, 100],
    ] as const) {
      const account = await g.createAccount();
      const letGo = holdResponses(g.provider);
      const received = g.provider.requests.length + 1;
      const running = send(account, CHAT, more);
      await g.provider.received(received);
      const bodyBytes = Buffer.byteLength(JSON.stringify(bodyOf('test-chat', more)));
      assert.equal(
        (await account.money()).heldNano,
        costNano({ input: Math.ceil(bodyBytes / 4), output: outputTokens }),
        JSON.stringify(more),
      );
      letGo();
      await running;
      assert.equal((await account.money()).heldNano, 0n);
    }
  });

  test('an empty balance refuses even a call that costs nothing', async () => {
    const before = g.provider.requests.length;
    const account = await g.createAccount({ balanceYuan: '0' });
    const free = await send(account, { ...CHAT, model: 'test-free' });
    assertMoneyRefusal(free, 402, 'insufficient_balance');
    assert.equal(g.provider.requests.length, before);
    assert.equal(await account.lastCall(), undefined);
    assert.deepEqual(await money(account), { balance: '0', held: '0', spentToday: '0' });
  });

  test('fifty concurrent calls never overdraw a balance of ¥0.01 by more than the cost of one call', async () => {
    const account = await g.createAccount({ balanceYuan: '0.01' });
    const usage = { prompt_tokens: 10, completion_tokens: 100, total_tokens: 110 };
    const cost = costNano({ input: 10, output: 100 });
    const before = g.provider.requests.length;
    // The provider responds to no call until all fifty are decided, so reservations alone decide.
    const letGo = holdResponses(g.provider, json(200, chatCompletion(usage)));
    let refused = 0;
    const allRefused = Promise.withResolvers<void>();
    const hold = costNano({ input: Math.ceil(JSON.stringify(bodyOf('test-chat')).length / 4), output: 100 });
    const fitting = Number(10_000_000n / hold) + 1;
    const calls = Array.from({ length: 50 }, async () => {
      const response = await send(account, CHAT);
      if (response.status !== 200 && ++refused === 50 - fitting) allRefused.resolve();
      return response;
    });
    await allRefused.promise;
    assert.deepEqual(await account.money(), { balanceNano: 10_000_000n, heldNano: BigInt(fitting) * hold });
    letGo();
    const responses = await Promise.all(calls);
    for (const response of responses) {
      if (response.status !== 200) assertMoneyRefusal(response, 402, 'insufficient_balance', true);
    }
    assert.equal(responses.filter(({ status }) => status === 200).length, fitting);
    assert.equal(g.provider.requests.length, before + fitting);
    const { balanceNano, heldNano } = await account.money();
    assert.equal(heldNano, 0n);
    assert.equal(balanceNano, 10_000_000n - BigInt(fitting) * cost);
    assert.ok(balanceNano > -cost);
  });

  test('the reported balance is the current one: after a charge, and without what is reserved', async () => {
    const account = await g.createAccount({ balanceYuan: '1' });
    const read = async () => {
      const response = await fetch(`${g.url}/v1/user/balance`, {
        headers: { authorization: `Bearer ${account.key}` },
      });
      return ((await response.json()) as { balance: number }).balance;
    };
    const letGo = holdResponses(g.provider);
    const received = g.provider.requests.length + 1;
    const running = send(account, CHAT);
    await g.provider.received(received);
    assert.equal(await read(), 1);
    letGo();
    await running;
    assert.equal(await read(), 1 - Number(COST_NANO) / 1e9);
  });
});

describe(`a daily cap`, { timeout: 60_000 }, () => {
  // The configured cap pays for two calls and admits a third.
  setUp({ billing: `dailySpendCapYuan: "${formatYuan(COST_NANO * 2n + 1n)}"` });
  beforeEach(() => clock.set('2026-11-20T15:30:00Z'));
  const OVER = 'balance_daily_limit_exceeded';

  test('of an account replaces the configured one, higher or lower, and can be removed', async () => {
    const account = await g.createAccount({ dailySpendCapYuan: formatYuan(COST_NANO) });
    const setCap = (dailySpendCapYuan: string | null) =>
      g.admin('PATCH', `/accounts/${account.id}`, { dailySpendCapYuan });
    assert.equal((await send(account, CHAT)).status, 200);
    assertMoneyRefusal(await send(account, CHAT), 429, OVER);
    assert.equal((await setCap('1')).body.dailySpendCapYuan, '1');
    for (let i = 0; i < 4; i++) assert.equal((await send(account, CHAT)).status, 200);
    assert.equal((await setCap(null)).body.dailySpendCapYuan, null);
    assertMoneyRefusal(await send(account, CHAT), 429, OVER);
    await setCap('0');
    clock.set('2026-11-22T00:00:00Z');
    assertMoneyRefusal(await send(account, CHAT), 429, OVER);
  });

  test('counts what is reserved as spent until it is released', async () => {
    const account = await g.createAccount();
    const letGo = holdResponses(g.provider, json(500, { error: { message: 'No.' } }));
    const received = g.provider.requests.length + 1;
    const running = send(account, CHAT);
    await g.provider.received(received);
    assertMoneyRefusal(await send(account, CHAT), 429, OVER, true);
    letGo();
    assert.equal((await running).status, 500);
    g.provider.respond = responseAll;
    assert.equal((await send(account, CHAT)).status, 200);
  });

  test('is not affected by charges on the other side of midnight', async () => {
    const account = await g.createAccount();
    const letGo = holdResponses(g.provider);
    const received = g.provider.requests.length + 1;
    clock.set('2026-11-20T15:59:59Z');
    const running = send(account, CHAT);
    await g.provider.received(received);
    clock.set('2026-11-20T16:00:01Z');
    letGo();
    assert.equal((await running).status, 200);
    assert.equal((await money(account)).spentToday, formatYuan(COST_NANO));
    clock.set('2026-11-21T16:00:00Z');
    assert.equal((await money(account)).spentToday, '0');
  });
});
