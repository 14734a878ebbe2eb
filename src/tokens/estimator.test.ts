import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { totalTokens } from './budgets.ts';
import { type BodyKind, countBody } from './count-body.ts';
import { createTokenEstimator, EstimatorBusyError, type TokenEstimator } from './estimator.ts';
import { Tokenizer } from './tokenizer.ts';

const estimator = createTokenEstimator({ threadsMax: 1 });
after(() => estimator.close());
const tokenizer = new Tokenizer();

async function estimate(on: TokenEstimator, kind: BodyKind, body: Buffer, factor: number): Promise<number> {
  return totalTokens(await on.count(kind, body), factor);
}

function messagesBody(sizeBytes: number): Buffer {
  const content = 'The ferry leaves at 6:15. 早班的渡船六点一刻离岸。\n'.repeat(Math.ceil(sizeBytes / 70));
  return Buffer.from(JSON.stringify({ messages: [{ role: 'user', content }] }));
}

describe('createTokenEstimator', () => {
  it('answers what counting in this thread answers, small or large, with factor and margin', async () => {
    const bodies: readonly [BodyKind, Buffer][] = [
      ['messages', messagesBody(10)],
      ['messages', messagesBody(4 * 2 ** 20)],
      ['responses', Buffer.from('{}')],
      ['responses', Buffer.from(JSON.stringify({ input: 'hello <|endoftext|>', tools: [{ name: 'f' }] }))],
    ];
    for (const [kind, body] of bodies) {
      for (const factor of [1, 1.55]) {
        const expected = totalTokens(countBody(kind, body, tokenizer), factor);
        assert.equal(await estimate(estimator, kind, body, factor), expected);
      }
    }
  });

  it('leaves the caller its body, also where that is a slice of a shared buffer', async () => {
    const shared = Buffer.from(`####${JSON.stringify({ input: 'abc' })}####`);
    const body = shared.subarray(4, shared.length - 4);
    const before = Buffer.from(shared);
    assert.equal(await estimate(estimator, 'responses', body, 1), await estimate(estimator, 'responses', body, 1));
    assert.deepEqual(shared, before);
  });

  it('refuses more bodies than its limit at once, and takes others when those are done', async () => {
    const bounded = createTokenEstimator({ threadsMax: 1, bodiesMax: 3 });
    const body = messagesBody(100);
    const outcomes = await Promise.allSettled(Array.from({ length: 50 }, () => estimate(bounded, 'messages', body, 1)));
    const refused = outcomes.filter((outcome) => outcome.status === 'rejected');
    assert.equal(refused.length, 47);
    assert.ok(refused.every(({ reason }) => reason instanceof EstimatorBusyError));
    assert.ok((await estimate(bounded, 'messages', body, 1)) > 0);
    await bounded.close();
  });

  it('refuses bodies that are too large together, and takes any that is alone', async () => {
    const bounded = createTokenEstimator({ threadsMax: 1, bodyBytesMax: 1_000 });
    const first = estimate(bounded, 'messages', messagesBody(5_000), 1);
    await assert.rejects(estimate(bounded, 'messages', messagesBody(10), 1), EstimatorBusyError);
    assert.ok((await first) > 0);
    assert.ok((await estimate(bounded, 'messages', messagesBody(10), 1)) > 0);
    await bounded.close();
  });

  it('fails the one body that is no JSON, and counts the next', async () => {
    await assert.rejects(estimate(estimator, 'messages', Buffer.from('{"a":'), 1), SyntaxError);
    assert.ok((await estimate(estimator, 'messages', messagesBody(10), 1)) > 0);
  });

  it('finishes what is under way when it is closed, refuses what comes later, and may be closed twice', async () => {
    const closing = createTokenEstimator({ threadsMax: 1 });
    const underWay = [1, 2, 3].map(() => estimate(closing, 'messages', messagesBody(100_000), 1));
    await Promise.all([closing.close(), closing.close()]);
    for (const tokens of await Promise.all(underWay)) assert.ok(tokens > 0);
    await assert.rejects(estimate(closing, 'messages', messagesBody(10), 1), /closed/);
  });

  it('fails the body whose thread died, and counts those that waited behind it', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'estimator-'));
    const workerFile = join(folder, 'worker.mjs');
    await writeFile(
      workerFile,
      `export function count({ kind, body }) {
        if (body.byteLength === 1) process.exit(1);
        return { textTokens: body.byteLength, budgetTokens: 0 };
      }`,
    );
    const mortal = createTokenEstimator({ threadsMax: 1, workerFile });
    const totals = [10, 1, 20, 30, 1, 40].map((size) => estimate(mortal, 'messages', Buffer.alloc(size), 1));
    const outcomes = await Promise.allSettled(totals);
    const values = outcomes.map((outcome) => (outcome.status === 'fulfilled' ? outcome.value : null));
    assert.deepEqual(values, [11, null, 22, 33, null, 44]);
    await mortal.close();
    await rm(folder, { recursive: true });
  });

  const script = (end: string) => `
    import { createTokenEstimator } from ${JSON.stringify(new URL('./estimator.ts', import.meta.url).href)};
    const estimator = createTokenEstimator({ idleMs: 3_600_000 });
    console.log(JSON.stringify(await estimator.count('responses', Buffer.from('{"input":"hello"}'))));
    ${end}`;
  for (const [how, end] of [
    ['after it is closed', 'await estimator.close();'],
    ['though it is not closed', ''],
  ] as const) {
    it(`lets the process end ${how}`, { timeout: 60_000 }, async () => {
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
      assert.deepEqual(JSON.parse(output), { textTokens: 1, budgetTokens: 10 });
    });
  }

  it('starts no thread before the first estimate', async () => {
    const ports = () => process.getActiveResourcesInfo().filter((name) => name === 'MessagePort').length;
    const before = ports();
    const lazy = createTokenEstimator();
    assert.equal(ports(), before);
    const counted = lazy.count('responses', Buffer.from('{}'));
    assert.equal(ports(), before + 1);
    await counted;
    await lazy.close();
  });
});
