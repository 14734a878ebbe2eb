import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { formatYuan } from '../../src/lib/yuan.ts';
import { createSubscriber, nothingInFlight, plansText } from '../plans/coding.ts';
import { startCall } from '../support/client.ts';
import { createTestClock } from '../support/clock.ts';
import { assertEstimated, assertFree, estimatedInput, requestOf } from '../support/families.ts';
import {
  assertSpent,
  clientLeaves,
  costNano,
  PRICE,
  startGateway,
  type TestAccount,
  type TestGateway,
} from '../support/gateway.ts';
import { chatStream, event, type LiveResponse, liveResponse, messagesStream } from '../support/provider.ts';

/**
 * What a stream costs whose client has left (`docs/client-aborts.md`): what its provider bills, or an estimate that leaves no incentive to
 * leave.
 */

/** What the plans of these tests allow. */
const PLANNED = ['test-both', 'test-unlimited'];

/** Tokens that no client sees: reasoning. */
const HIDDEN = 24_000;

interface Wire {
  readonly name: string;
  readonly path: string;
  readonly body: object;
  /** Up to the first event. */
  readonly first: string;
  /** The words, up to before the end of the output. */
  readonly words: string;
  /** The end of the output. */
  readonly end: string;
  /** What follows it: 11 tokens in, `HIDDEN` out. */
  readonly rest: string;
  /** What is known of the input once the first event has come. */
  readonly inputTokens: number;
}

function wires(): readonly Wire[] {
  const chatBody = requestOf(true);
  const responsesBody = { model: 'test-unlimited', input: 'Say hello.', stream: true };
  const chat = chatStream(['Hello'], { prompt_tokens: 11, completion_tokens: HIDDEN });
  const messages = messagesStream(['Hello'], { input_tokens: 11, output_tokens: HIDDEN });
  const used = { input_tokens: 11, output_tokens: HIDDEN, total_tokens: HIDDEN + 11 };
  const item = { type: 'message', id: 'msg_1', content: [{ type: 'output_text', text: 'Hello' }] };
  return [
    {
      name: 'chat, at finish_reason',
      path: '/v1/chat/completions',
      body: chatBody,
      first: chat[0]!,
      words: chat[1]!,
      end: chat[2]!,
      rest: chat.slice(3).join(''),
      inputTokens: estimatedInput('chat', chatBody),
    },
    {
      name: 'messages, at content_block_stop',
      path: '/v1/messages',
      body: requestOf(true),
      first: messages[0]!,
      words: messages.slice(1, 4).join(''),
      end: messages[4]!,
      rest: messages.slice(5).join(''),
      inputTokens: 11,
    },
    {
      name: 'responses, at response.output_item.done',
      path: '/v1/responses',
      body: responsesBody,
      first: event('response.created', { response: { id: 'resp_1', status: 'in_progress', usage: null } }),
      words: event('response.output_text.delta', { delta: 'Hello' }),
      end: event('response.output_item.done', { item }),
      rest: event('response.completed', {
        response: { id: 'resp_1', status: 'completed', output: [item], usage: used },
      }),
      inputTokens: estimatedInput('responses', responsesBody),
    },
  ];
}

const MODELS = {
  models: `  test-unlimited:
    operations: [responses]
    price: ${PRICE}
    routes: [{ provider: chatty, model: upstream-responses }]
  test-hiding:
    operations: [chat]
    hiddenReasoning: true
    price: { input: "3", output: "13" }
    routes: [{ provider: chatty, model: hiding }]
  test-learning:
    operations: [chat]
    price: { input: "3", output: "13" }
    routes: [{ provider: chatty, model: learning }]
  test-speaking:
    operations: [chat]
    maxOutputTokens: "4096"
    price: { input: "3", output: "13", audioOutput: "128", imageOutput: "60" }
    routes: [{ provider: chatty, model: speaking }]
  test-drained:
    operations: [chat]
    onClientAbort: drain
    price: { input: "3", output: "13" }
    routes: [{ provider: chatty, model: drained }]
`,
};

function codingPath(path: string): string {
  return path === '/v1/messages' ? '/v1/coding/altproto/messages' : path.replace('/v1/', '/v1/coding/');
}

interface Leaver {
  readonly account: TestAccount;
  readonly live: LiveResponse;
}

/** Begins a call, reads what was sent, and leaves. Resolves once the gateway has noticed. */
async function leaveAfter(gateway: TestGateway, path: string, body: object, sent: string): Promise<Leaver> {
  const account = await gateway.createAccount();
  return { account, live: await leaveAs(gateway, account, path, body, sent) };
}

async function leaveAs(
  gateway: TestGateway,
  account: { readonly key: string },
  path: string,
  body: object,
  sent: string,
): Promise<LiveResponse> {
  const live = liveResponse();
  gateway.provider.respond = live.respond;
  const left = clientLeaves(gateway);
  const started = startCall(gateway.url + path, account.key, body);
  await live.opened;
  if (sent !== '') {
    await live.write(sent);
    await (await started.response).until(sent.slice(-30));
  }
  started.drop();
  await left;
  return live;
}

describe(`streams whose clients have left`, () => {
  let gateway: TestGateway;
  before(async () => {
    gateway = await startGateway({
      ...MODELS,
      plans: plansText({ ten: { fiveHourCalls: 10, models: PLANNED }, plan: { models: PLANNED } }),
    });
  });
  after(() => gateway.stop());

  for (const { name, path, body, first, words, end, rest, inputTokens } of wires()) {
    describe(name, () => {
      it('after the end of the output the usage is awaited, and charged', async () => {
        const { account, live } = await leaveAfter(gateway, path, body, first + words + end);
        await live.write(rest);
        await live.closed;
        const { status, errorCode, usage } = await account.endedCall();
        assert.deepEqual([status, errorCode, usage.source], ['succeeded', null, 'observed']);
        await assertSpent(account, costNano({ input: 11, output: HIDDEN }));
      });

      it('if the provider breaks off there, what was received is charged', async () => {
        const { account, live } = await leaveAfter(gateway, path, body, first + words + end);
        live.reset();
        const { status, usage } = await account.endedCall();
        assert.deepEqual(
          [status, usage.source, usage.inputTokens, usage.outputTokens],
          ['aborted', 'estimated', inputTokens, 2],
        );
        await assertSpent(account, costNano({ input: inputTokens, output: 2 }));
      });

      it('before the first event that is awaited, then the call is cancelled and its input charged', async () => {
        const { account, live } = await leaveAfter(gateway, path, body, '');
        await live.write(': ping\n\n');
        assert.ok((await account.money()).heldNano > 0n, 'the reservation stands until then');
        await live.write(first);
        await live.closed;
        const { status, httpStatus, errorCode, usage } = await account.endedCall();
        assert.deepEqual([status, httpStatus, errorCode, usage.source], ['aborted', null, null, 'estimated']);
        assert.equal(usage.inputTokens, inputTokens);
        // The output of message_start is provisional, and the least that is known.
        await assertSpent(account, costNano({ input: inputTokens, output: path === '/v1/messages' ? 1 : 0 }));
      });

      it('before the first event, a failure costs nothing', async () => {
        const account = await gateway.createAccount();
        const failing = await leaveAs(gateway, account, path, body, '');
        failing.reset();
        assert.equal((await account.endedCall()).usage, null);
        const error =
          path === '/v1/messages'
            ? event('error', { error: { type: 'api_error', message: 'No.' } })
            : 'data: {"error":{"message":"No."}}\n\n';
        const saying = await leaveAs(gateway, account, path, body, '');
        await saying.write(error);
        saying.end();
        assert.equal((await account.endedCall(2)).usage, null);
        await assertSpent(account, 0n);
      });

      it('on a plan, a call counts once its first event has come, with its input', async () => {
        const subscriber = await createSubscriber(gateway, 'plan');
        const live = await leaveAs(gateway, subscriber, codingPath(path), body, '');
        assert.deepEqual(await subscriber.used(), { fiveHour: 1, weekly: 1, inFlight: 1, tokens: 0 });
        await live.write(first);
        await live.closed;
        await nothingInFlight(gateway.database, subscriber.id);
        const tokens = inputTokens + (path === '/v1/messages' ? 1 : 0);
        assert.deepEqual(await subscriber.used(), { fiveHour: 1, weekly: 1, inFlight: 0, tokens });
      });
    });
  }

  it('on a plan, 55 streams that are left before the first byte put no more prompts at the provider than a window has', async () => {
    const subscriber = await createSubscriber(gateway, 'ten');
    const [chat] = wires();
    const asked = gateway.provider.requests.length;
    let refused = 0;
    for (let i = 0; i < 55; i++) {
      const live = liveResponse();
      gateway.provider.respond = live.respond;
      const left = clientLeaves(gateway);
      const started = startCall(gateway.url + codingPath(chat!.path), subscriber.key, chat!.body);
      const opened = await Promise.race([live.opened.then(() => true), started.response.then(() => false)]);
      if (opened) {
        started.drop();
        await left;
        await live.write(chat!.first);
        await live.closed;
        await nothingInFlight(gateway.database, subscriber.id);
      } else {
        const response = await started.response;
        await response.ended();
        assert.equal(response.headers['x-error-code'], 'package_5h_quota_exhausted');
        refused++;
      }
    }
    assert.equal(gateway.provider.requests.length - asked, 10);
    assert.equal(refused, 45);
    const { fiveHour, tokens } = await subscriber.used();
    assert.deepEqual([fiveHour, tokens], [10, 10 * chat!.inputTokens]);
  });

  it('chat: all of several choices have to finish before the usage is awaited', async () => {
    const body = { ...requestOf(true), n: 2 };
    const finish = (index: number) =>
      `data: ${JSON.stringify({ choices: [{ index, delta: {}, finish_reason: 'stop' }] })}\n\n`;
    const [chat] = wires();
    const half = await leaveAfter(gateway, chat!.path, body, chat!.first + chat!.words + finish(0));
    await half.live.closed;
    assert.equal((await half.account.endedCall()).status, 'aborted');
    const whole = await leaveAfter(gateway, chat!.path, body, chat!.first + finish(1) + finish(0));
    await whole.live.write(chat!.rest);
    await whole.account.endedCall();
    await assertSpent(whole.account, costNano({ input: 11, output: HIDDEN }));
  });

  it('chat: an image of 1 MB costs its budget if the client leaves after the first word', async () => {
    const url = `data:image/png;base64,${Buffer.alloc(2 ** 20, 0xa7).toString('base64')}`;
    const content = [
      { type: 'text', text: 'What is this?' },
      { type: 'image_url', image_url: { url } },
    ];
    const body = { ...requestOf(true), messages: [{ role: 'user', content }] };
    const [chat] = wires();
    const { account, live } = await leaveAfter(gateway, chat!.path, body, chat!.first + chat!.words);
    await live.closed;
    const { usage } = await account.endedCall();
    assert.equal(usage.source, 'estimated');
    assert.ok(usage.inputTokens > 3_072 && usage.inputTokens < 3_500, String(usage.inputTokens));
    await assertSpent(account, costNano({ input: usage.inputTokens, output: 2 }));
  });

  it('chat: audio and images are output at their own prices', async () => {
    const [chat] = wires();
    const body = {
      ...chat!.body,
      model: 'test-speaking',
      max_tokens: 4_096,
      modalities: ['text', 'audio'],
      audio: { voice: 'alloy', format: 'pcm16' },
    };
    const delta = (of: object) => `data: ${JSON.stringify({ choices: [{ index: 0, delta: of }] })}\n\n`;
    const second = delta({ audio: { data: Buffer.alloc(48_000, 7).toString('base64') } });
    const picture = delta({ images: [{ type: 'image_url', image_url: { url: 'data:image/png;base64,iVBORw0K' } }] });
    const sent = delta({ audio: { id: 'audio_1', transcript: 'Hello' } }) + second.repeat(10) + picture;
    const { account, live } = await leaveAfter(gateway, chat!.path, body, sent);
    await live.closed;
    const { usage } = await account.endedCall();
    assert.deepEqual(
      [usage.source, usage.outputTokens, usage.audioOutputTokens, usage.imageOutputTokens],
      ['estimated', 2, 200, 1_056],
    );
    const input = estimatedInput('chat', body);
    await assertSpent(account, BigInt(input * 3_000 + 2 * 13_000 + 200 * 128_000 + 1_056 * 60_000));
  });

  it('streams of one model may be drained while others are cancelled', async () => {
    const [chat] = wires();
    const body = { ...chat!.body, model: 'test-drained' };
    const { account, live } = await leaveAfter(gateway, chat!.path, body, chat!.first + chat!.words);
    await live.write(chat!.end + chat!.rest);
    assert.equal((await account.endedCall()).status, 'succeeded');
    await assertSpent(account, costNano({ input: 11, output: HIDDEN }));
  });

  for (const [what, path, body] of [
    [
      'generated',
      '/v1/images/generations',
      { model: 'test-images', prompt: 'A boat', stream: true, partial_images: 1 },
    ],
  ] as const) {
    it(`images that are ${what} are awaited, wherever the client leaves`, async () => {
      const partial = event('image_generation.partial_image', { b64_json: 'AAAA', partial_image_index: 0 });
      const usage = { input_tokens: 20, output_tokens: 400, total_tokens: 420 };
      for (const sent of ['', partial]) {
        const { account, live } = await leaveAfter(gateway, path, body, sent);
        await live.write(partial + event('image_generation.completed', { b64_json: 'AAAA', usage }));
        live.end();
        const { status, usage: used } = await account.endedCall();
        assert.deepEqual([status, used.source], ['succeeded', 'observed']);
        await assertSpent(account, 20n * 3_000n + 400n * 19_000n);
      }
    });
  }

  it('chat: usage after [DONE] is charged, and the usage that the gateway asked for does not reach the client', async () => {
    const account = await gateway.createAccount();
    const events = chatStream(['Hello'], { prompt_tokens: 11, completion_tokens: 7 });
    const [done, usage] = [events.at(-1)!, events.at(-2)!];
    const live = liveResponse();
    gateway.provider.respond = live.respond;
    const started = startCall(`${gateway.url}/v1/chat/completions`, account.key, requestOf(true));
    await live.opened;
    await live.write(events.slice(0, -2).join('') + done);
    await (await started.response).until('"stop"');
    await live.write(usage);
    live.end();
    const response = await started.response;
    assert.equal(await response.ended(), true);
    assert.equal(response.text, events.slice(0, -2).join('') + done);
    assert.equal((await account.endedCall()).usage.source, 'observed');
    await assertSpent(account, costNano({ input: 11, output: 7 }));
  });
});

describe(`limits of what is awaited for clients that have left`, () => {
  let gateway: TestGateway;
  before(async () => {
    gateway = await startGateway({
      ...MODELS,
      abortLimits: { restMs: 20 },
      providerFields: 'timeouts: { firstByte: 100ms }',
    });
  });
  after(() => gateway.stop());

  for (const { name, path, body, first, words, end, inputTokens } of wires()) {
    it(`${name}: a remainder that does not arrive in time is estimated`, async () => {
      const { account, live } = await leaveAfter(gateway, path, body, first + words + end);
      await live.closed;
      await assertEstimated(account, { input: inputTokens, output: 2 }, { status: 'aborted', errorCode: null });
    });

    it(`${name}: a first event that does not arrive in time costs nothing`, async () => {
      const account = await gateway.createAccount();
      const hungUp = Promise.withResolvers<void>();
      gateway.provider.respond = (_request, response) => void response.socket!.once('close', () => hungUp.resolve());
      const asked = gateway.provider.requests.length;
      const started = startCall(gateway.url + path, account.key, body);
      await gateway.provider.received(asked + 1);
      started.drop();
      await hungUp.promise;
      await account.endedCall();
      await assertFree(account, { status: 'aborted', httpStatus: null, errorCode: null });
    });
  }
});

describe(`the size of what is read for clients that have left`, () => {
  let gateway: TestGateway;
  before(async () => {
    gateway = await startGateway({ abortLimits: { restBytes: 10_000 } });
  });
  after(() => gateway.stop());

  it('is what was received before and a fixed number of bytes', async () => {
    const [chat] = wires();
    const { account, live } = await leaveAfter(gateway, chat!.path, chat!.body, chat!.first + chat!.words + chat!.end);
    await live.write(`: ${'x'.repeat(9_000)}\n\n`);
    assert.ok((await account.money()).heldNano > 0n);
    await live.write(`: ${'x'.repeat(9_000)}\n\n`);
    await live.closed;
    await assertEstimated(account, { input: chat!.inputTokens, output: 2 }, { status: 'aborted', errorCode: null });
  });
});

describe(`output without a limit`, () => {
  let gateway: TestGateway;
  before(async () => {
    gateway = await startGateway({ ...MODELS });
  });
  after(() => gateway.stop());

  const [, messages, responses] = wires();
  const long = 'word'.repeat(5_000);
  for (const { wire, event: text } of [
    {
      wire: messages!,
      event: event('content_block_delta', { index: 0, delta: { type: 'text_delta', text: long } }),
    },
    { wire: responses!, event: event('response.output_text.delta', { delta: long }) },
  ]) {
    it(`is charged as far as it was delivered, within a limit that is stated: ${wire.path}`, async () => {
      const { max_tokens: _, ...unlimited } = { max_tokens: 0, ...wire.body };
      const body = { ...unlimited, model: wire === messages ? 'test-both' : 'test-unlimited' };
      const limit = wire === messages ? { max_tokens: 100 } : { max_output_tokens: 100 };
      const begun = wire === messages ? wire.first + wire.words : wire.first;
      const { account, live } = await leaveAfter(gateway, wire.path, body, begun + text);
      await live.closed;
      const { id, usage } = await account.endedCall();
      const before = wire === messages ? 'Hello'.length : 0;
      assert.equal(usage.outputTokens, Math.ceil((before + long.length) / 4));
      assert.notEqual((await gateway.admin('GET', `/calls/${id}`)).body.reservedYuan, null);
      const limited = await leaveAfter(gateway, wire.path, { ...body, ...limit }, begun + text);
      await limited.live.closed;
      const bounded = await limited.account.endedCall();
      assert.ok(bounded.usage.outputTokens < 200, String(bounded.usage.outputTokens));
      assert.equal((await gateway.admin('GET', `/calls/${bounded.id}`)).body.reservedYuan, null);
    });
  }

  it('is charged as far as it was delivered, even beyond the reservation, which is then recorded', async () => {
    const [chat] = wires();
    const text = `data: {"choices":[{"index":0,"delta":{"content":"${'word'.repeat(5_000)}"},"finish_reason":null}]}\n\n`;
    const { max_tokens: _, ...unlimited } = { max_tokens: 0, ...chat!.body, model: 'test-both' };
    const { account, live } = await leaveAfter(gateway, chat!.path, unlimited, chat!.first + text);
    await live.closed;
    const input = chat!.inputTokens;
    await assertEstimated(account, { input, output: 5_000 }, { status: 'aborted', errorCode: null });
    const record = (await gateway.admin('GET', `/calls/${(await account.endedCall()).id}`)).body;
    const inputReserved = Math.ceil(Buffer.byteLength(JSON.stringify(unlimited)) / 4);
    assert.equal(record.reservedYuan, formatYuan(costNano({ input: inputReserved, output: 4_096 })));
    // A limit that the request states bounds the estimate.
    const limited = await leaveAfter(gateway, chat!.path, { ...unlimited, max_tokens: 100 }, chat!.first + text);
    await limited.live.closed;
    const bounded = await limited.account.endedCall();
    assert.ok(bounded.usage.outputTokens < 200, String(bounded.usage.outputTokens));
    assert.equal((await gateway.admin('GET', `/calls/${bounded.id}`)).body.reservedYuan, null);
  });
});

describe(`reasoning that no client sees`, () => {
  let gateway: TestGateway;
  const clock = createTestClock('2026-11-20T04:00:00Z');
  before(async () => {
    gateway = await startGateway({ clock, ...MODELS });
  });
  after(() => gateway.stop());

  const [chat] = wires();
  const bodyFor = (model: string, maxTokens: number) => ({ ...chat!.body, model, max_tokens: maxTokens });

  /** A stream that has sent one word, so many seconds ago. */
  async function silentFor(seconds: number, body: object) {
    const account = await gateway.createAccount();
    const live = liveResponse();
    gateway.provider.respond = live.respond;
    const started = startCall(gateway.url + chat!.path, account.key, body);
    await live.opened;
    await live.write(chat!.first + chat!.words);
    await (await started.response).until('Hello');
    clock.advance(seconds * 1_000);
    return { account, live, started };
  }

  async function leaveAfterSeconds(seconds: number, body: object): Promise<TestAccount> {
    const { account, live, started } = await silentFor(seconds, body);
    started.drop();
    await live.closed;
    return account;
  }

  it('is estimated by the elapsed time, at a typical speed until one is measured', async () => {
    const account = await leaveAfterSeconds(20, bodyFor('test-hiding', 5_000));
    await assertEstimated(
      account,
      { input: chat!.inputTokens, output: 20 * 50 },
      { status: 'aborted', errorCode: null },
    );
  });

  it('is never more than was reserved', async () => {
    const account = await leaveAfterSeconds(3_000, bodyFor('test-hiding', 500));
    const { usage } = await account.endedCall();
    const { balanceNano } = await account.money();
    const reserved = costNano({
      input: Math.ceil(Buffer.byteLength(JSON.stringify(bodyFor('test-hiding', 500))) / 4),
      output: 500,
    });
    assert.equal(usage.inputTokens, chat!.inputTokens);
    assert.ok(usage.outputTokens >= 500, String(usage.outputTokens));
    assert.ok(100_000_000_000n - balanceNano <= reserved);
  });

  it('is known from usage that reports more reasoning than was seen, and is estimated by the speed of those streams', async () => {
    const body = bodyFor('test-learning', 5_000);
    const before = await leaveAfterSeconds(20, body);
    await assertEstimated(before, { input: chat!.inputTokens, output: 2 }, { status: 'aborted', errorCode: null });

    const { live, started } = await silentFor(10, body);
    const details = { completion_tokens_details: { reasoning_tokens: 900 } };
    await live.write(
      chatStream([], { prompt_tokens: 11, completion_tokens: 1_000, ...details })
        .slice(1)
        .join(''),
    );
    live.end();
    await (await started.response).ended();

    const after = await leaveAfterSeconds(20, body);
    await assertEstimated(after, { input: chat!.inputTokens, output: 2_000 }, { status: 'aborted', errorCode: null });
  });
});
