import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { after, describe, it } from 'node:test';
import { GatewayError } from '../errors/gateway-error.ts';
import { defaultJsonScanLimits } from '../lib/json/json-scan.ts';
import { type OperationName, operations } from '../protocols/operations/all.ts';
import { compact } from '../protocols/operations/compact.ts';
import { imageGeneration } from '../protocols/operations/image-generation.ts';
import { messages } from '../protocols/operations/messages.ts';
import { totalTokens } from '../protocols/token-estimate/budgets.ts';
import { type BodyKind, countBody } from '../protocols/token-estimate/count-body.ts';
import { Tokenizer } from '../protocols/token-estimate/tokenizer.ts';
import { createRequestWorkers } from './request-workers.ts';

const MIB = 2 ** 20;
/** Fraction of the largest body in production; `npm run test:attacks` uses the full size. */
const SHARE = 1 / 32;
const BODY_BYTES_MAX = 64 * MIB * SHARE;
/** Bodies for the event loop, and for the two kinds of threads. */
const SIZES_BYTES = [10, 100_000, 300_000];
/** The same fraction of the heap, plus what a thread has loaded. */
const HEAP_MIB_MAX = 1_024 * SHARE + 64;
const alone = { accountId: 'a', isOnlyAccount: true };

// A machine that runs other tests may need more time than a task has in production.
const workers = createRequestWorkers({ taskMsMax: 600_000, heapMiBMax: HEAP_MIB_MAX });
after(() => workers.close());
const tokenizer = new Tokenizer();

function messagesBody(sizeBytes: number): Buffer {
  const content = 'The ferry leaves at 6:15. 早班的渡船六点一刻离岸。\n'.repeat(Math.ceil(sizeBytes / 70));
  return Buffer.from(JSON.stringify({ messages: [{ role: 'user', content }] }));
}

/** The JSON text of a list with as many copies of an item as fit into a body. */
function filled(item: string, count = Math.floor(BODY_BYTES_MAX / (item.length + 1)) - 100): string {
  return `[${`${item},`.repeat(count - 1)}${item}]`;
}

describe('bodies of calls', () => {
  const bodies: Readonly<Record<Exclude<OperationName, 'images.edit'>, Readonly<Record<string, unknown>>>> = {
    chat: { model: 'm', messages: [], stream: true, max_tokens: 7 },
    messages: { model: 'm', messages: [], max_tokens: 7 },
    responses: { model: 'm', input: [{ encrypted_content: 'abc' }], previous_response_id: 'resp_1' },
    compact: { model: null, input: [{ encrypted_content: 'abc' }] },
    completions: { model: 'm', prompt: ['a', 'b'], n: 2, best_of: 3, echo: true, stream: true },
    embeddings: { model: 'm', input: [[1, 2, 3]] },
    rerank: { model: 'm', query: 'q', documents: ['d'] },
    'images.generate': { model: 'gpt-image-2', prompt: 'a boat', quality: 'high', size: '1024x1024', n: 2 },
  };

  for (const operation of operations) {
    if (!('read' in operation)) continue;
    const { name } = operation;
    // The facts must not depend on the thread that reads the body, and no byte of the body may change.
    it(`of ${name} have the same facts in every thread`, async () => {
      for (const sizeBytes of SIZES_BYTES) {
        const filler = { x_filler: 'ab"你'.repeat(sizeBytes / 8) };
        const text = JSON.stringify({ ...bodies[name], ...filler });
        const { facts, body } = await workers.read(operation, Buffer.from(text), alone);
        assert.equal(body.toString(), text);
        assert.deepEqual(facts, operation.read(body));
      }
    });

    it(`of ${name} are refused with the same field to blame in every thread`, async () => {
      for (const sizeBytes of SIZES_BYTES) {
        const text = JSON.stringify({ ...bodies[name], model: 7, x: 'x'.repeat(sizeBytes) });
        const error = await thrownBy(async () => workers.read(operation, Buffer.from(text), alone));
        assert.ok(error instanceof GatewayError, String(error));
        assert.throws(() => operation.read(Buffer.from(text)), { ...error });
        assert.equal(error.param, 'model');
      }
    });
  }

  it('of some hundred KB are read in this thread if they have few values, and in another one if they have many', async (test) => {
    // The task of a thread that cannot start times out.
    const withoutThreads = createRequestWorkers({ file: '/nonexistent/worker.js', taskMsMax: 100 });
    test.after(() => withoutThreads.close());
    const content = 'The ferry leaves at 6:15. 早班的渡船六点一刻离岸。\n'.repeat(4_000);
    const prompt = Buffer.from(JSON.stringify({ ...bodies.messages, messages: [{ role: 'user', content }] }));
    const { facts, body } = await withoutThreads.read(messages, Buffer.from(prompt), alone);
    assert.deepEqual(facts, messages.read(prompt));
    assert.deepEqual(body, prompt);
    const values = Buffer.from(
      JSON.stringify({ model: 'm', max_tokens: 1, messages: [], metadata: Array(100_000).fill(1) }),
    );
    await assert.rejects(async () => withoutThreads.read(messages, values, alone));
    assert.deepEqual((await workers.read(messages, Buffer.from(values), alone)).facts, messages.read(values));
  });

  it('of more than 64 KiB are read in another thread if their content takes long to read', async (test) => {
    const withoutThreads = createRequestWorkers({ file: '/nonexistent/worker.js', taskMsMax: 100 });
    test.after(() => withoutThreads.close());
    const slow = {
      'values in levels': `${'{"context_management":'.repeat(200)}[${'1,'.repeat(50_000)}1]${'}'.repeat(200)}`,
      'an escaped key': `{"${'\\u005f'.repeat(60_000)}":1}`,
      'a long key': `{"${'_'.repeat(300_000)}":1}`,
      'long keys': `{${Array.from({ length: 500 }, (_, n) => `"${'_'.repeat(1_000)}${n}":1`)}}`,
      'many keys': `[${'{"":1},'.repeat(20_000)}0]`,
    };
    for (const [what, value] of Object.entries(slow)) {
      const body = Buffer.from(`{"model":"m","max_tokens":1,"messages":[],"x":${value}}`);
      await assert.rejects(async () => withoutThreads.read(messages, body, alone), what);
    }
  });

  it('keep only the part of a prompt that its refusal needs', async () => {
    const body = Buffer.from(JSON.stringify({ prompt: 'p'.repeat(MIB) }));
    const { facts } = await workers.read(imageGeneration, body, alone);
    assert.ok(JSON.stringify(facts).length < 100_000);
    const input = imageGeneration.toInput(facts, body);
    assert.throws(() => input.checkFor('gpt-image-2'), { status: 400, param: 'prompt' });
  });
});

describe('malicious bodies', () => {
  const valuesMax = defaultJsonScanLimits.valuesMax * SHARE;
  const someFields = valuesMax / 2 - 10;
  /** Texts with the most values, or the most bytes, in the forms that are most expensive to parse. */
  const harmful: Readonly<Record<string, () => string>> = {
    'endless objects': () => filled('{"9":0}'),
    'endless lists': () => filled('[]'),
    'the maximum number of objects': () => filled('{"4294967290":0}', someFields),
    'the maximum number of object shapes': () =>
      `[${Array.from({ length: someFields }, (_, i) => `{"k${i}${'y'.repeat(100)}":[]}`).join(',')}]`,
    'an object with the maximum number of members': () =>
      `[{${Array.from({ length: valuesMax - 10 }, (_, i) => `"k${i}":0`).join(',')}}]`,
    'endless equal contexts': () => filled('{"encrypted_content":"AAAA"}', someFields),
    'a text of escapes': () => `"${'\\u0000'.repeat(BODY_BYTES_MAX / 6 - 100)}"`,
    'a text without line breaks': () => `"${'a'.repeat(BODY_BYTES_MAX - 100)}"`,
    'a text in two-byte units': () => `"${'a'.repeat(BODY_BYTES_MAX - 100)}你"`,
    'a name of a member': () => `[{"${'\\"'.repeat(BODY_BYTES_MAX / 2 - 100)}":1}]`,
    'a number': () => `[${'1'.repeat(BODY_BYTES_MAX - 100)}]`,
  };

  // If a thread's heap overflowed inside `JSON.parse`, the process and this test run would end.
  for (const [name, text] of Object.entries(harmful)) {
    it(`are read or refused with 400 in every thread: ${name}`, { timeout: 600_000 }, async () => {
      const value = text();
      const outcomes = [
        workers.read(compact, Buffer.from(`{"model":"m","input":${value}}`), alone),
        workers.estimate('responses', Buffer.from(`{"model":"m","x":${value}}`), alone),
      ];
      for (const outcome of await Promise.allSettled(outcomes)) {
        if (outcome.status === 'fulfilled') continue;
        assert.ok(outcome.reason instanceof GatewayError, String(outcome.reason));
        assert.equal(outcome.reason.status, 400);
      }
    });
  }
});

describe('counted tokens', () => {
  const countIn = (body: Buffer, kind: BodyKind = 'messages') => workers.count(kind, body, alone);

  it('equal those of this thread, for small and large bodies', async () => {
    for (const [kind, body] of [
      ['messages', messagesBody(10)],
      ['messages', messagesBody(MIB)],
      ['responses', Buffer.from('{}')],
      ['responses', Buffer.from(JSON.stringify({ input: 'hello <|endoftext|>', tools: [{ name: 'f' }] }))],
    ] as const) {
      const expected = countBody(kind, body, tokenizer);
      assert.deepEqual(await countIn(body, kind), expected);
      assert.ok(totalTokens(expected, 1.55) >= totalTokens(expected, 1));
    }
  });

  it('leave the body unchanged, even if it is a view of a shared buffer', async () => {
    const shared = Buffer.from(`####${JSON.stringify({ input: 'abc' })}####`);
    const body = shared.subarray(4, shared.length - 4);
    const before = Buffer.from(shared);
    assert.deepEqual(await countIn(body, 'responses'), await countIn(body, 'responses'));
    assert.deepEqual(shared, before);
    const large = messagesBody(300_000);
    await countIn(large);
    assert.deepEqual(large, messagesBody(300_000));
  });

  it('are refused to an account whose bodies fill the queue', async () => {
    const bounded = createRequestWorkers({ placesMax: 3, quickThreadsMax: 1 });
    const body = messagesBody(100);
    const counting = Array.from({ length: 50 }, () => bounded.estimate('messages', Buffer.from(body), alone));
    const refused = (await Promise.allSettled(counting)).filter(({ status }) => status === 'rejected');
    assert.equal(refused.length, 47);
    for (const { reason } of refused as PromiseRejectedResult[]) {
      assert.ok(reason instanceof GatewayError && reason.kind === 'overloaded');
    }
    assert.ok((await bounded.estimate('messages', body, alone)).count.textTokens > 0);
    await bounded.close();
  });

  const script = (end: string) => `
    import { createRequestWorkers } from ${JSON.stringify(new URL('./request-workers.ts', import.meta.url).href)};
    const workers = createRequestWorkers({ idleMs: 3_600_000 });
    const alone = { accountId: 'a', isOnlyAccount: true };
    console.log(JSON.stringify(await workers.count('responses', Buffer.from('{"input":"hello"}'), alone)));
    ${end}`;
  for (const [how, end] of [
    ['after they are closed', 'await workers.close();'],
    ['even if they are not closed', ''],
  ] as const) {
    it(`let the process end ${how}`, { timeout: 60_000 }, async () => {
      const child = spawn(process.execPath, ['--input-type=module', '-e', script(end)], {
        stdio: ['ignore', 'pipe', 'inherit'],
      });
      let output = '';
      child.stdout.on('data', (chunk: Buffer) => {
        output += chunk.toString();
      });
      const [code] = await once(child, 'close');
      assert.equal(code, 0);
      // One token and two budgets, base and item.
      const translatedBudgetTokens = { chat: 10, messages: 8 };
      assert.deepEqual(JSON.parse(output), { textTokens: 1, budgetTokens: 10, translatedBudgetTokens });
    });
  }
});

async function thrownBy(work: () => Promise<unknown>): Promise<unknown> {
  return work().catch((thrown: unknown) => thrown);
}
