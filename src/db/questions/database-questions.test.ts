import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createTestTimers } from '../../../test/support/timers.ts';
import { GatewayError } from '../../errors/gateway-error.ts';
import { ItemBatcher } from '../../lib/batcher.ts';
import { LateError, NotBegunError } from '../../lib/batcher-errors.ts';
import { silentLogger } from '../../lib/logger.ts';
import { createQuestions, refusedFor } from './database-questions.ts';

const turn = (): Promise<void> => new Promise(setImmediate);

function setScene() {
  const timers = createTestTimers();
  const probes: { response: () => void; isAborted: () => boolean }[] = [];
  const questions = createQuestions({
    timers,
    logger: silentLogger,
    probe(signal) {
      const { promise, resolve, reject } = Promise.withResolvers<void>();
      signal.addEventListener('abort', () => reject(signal.reason));
      probes.push({ response: resolve, isAborted: () => signal.aborted });
      return promise;
    },
  });
  const batches: { items: readonly string[]; response: () => void }[] = [];
  const batcher = new ItemBatcher<string, string>({
    run: questions.guard((items, { signal }) => {
      const { promise, resolve, reject } = Promise.withResolvers<readonly string[]>();
      signal.addEventListener('abort', () => reject(signal.reason));
      batches.push({ items, response: () => resolve(items) });
      return promise;
    }),
    limit: questions.limit,
    isItemFault: () => false,
    batchItemsMax: 10,
    waitingItemsMax: 10,
  });
  async function fall(): Promise<void> {
    const asked = batcher.submit('lost');
    await turn();
    timers.advance(2_000);
    await assert.rejects(asked, LateError);
    await turn();
  }
  return { timers, questions, probes, batches, batcher, fall };
}

describe('questions of calls to the database', () => {
  it('time out after two seconds, including the wait for a batch', async () => {
    const { timers, batches, batcher } = setScene();
    const first = batcher.submit('first');
    await turn();
    const second = assert.rejects(batcher.submit('second'), LateError);
    timers.advance(1_500);
    batches[0]!.response();
    assert.equal(await first, 'first');
    await turn();
    assert.deepEqual(batches[1]!.items, ['second']);
    const third = batcher.submit('third');
    timers.advance(500);
    await second;
    assert.equal(await Promise.race([third.catch(() => 'failed'), turn().then(() => 'waits')]), 'failed');
  });

  it('fail at once while the database is known to be down, without being sent', async () => {
    const { batches, batcher, questions, fall } = setScene();
    await fall();
    await assert.rejects(batcher.submit('next'), NotBegunError);
    await assert.rejects(
      questions.ask(() => Promise.resolve('never asked')),
      NotBegunError,
    );
    assert.equal(batches.length, 1);
  });

  it('are replaced by one probe at a time, with a pause after each, until one gets a response', async () => {
    const { timers, probes, batches, batcher, fall } = setScene();
    await fall();
    assert.equal(probes.length, 0);
    timers.advance(250);
    assert.equal(probes.length, 1);
    timers.advance(1_999);
    assert.equal(probes.length, 1, 'the first one is still pending');
    timers.advance(1);
    await turn();
    assert.ok(probes[0]!.isAborted());
    assert.equal(probes.length, 1);
    timers.advance(250);
    assert.equal(probes.length, 2);
    probes[1]!.response();
    await turn();
    const asked = batcher.submit('next');
    await turn();
    batches[1]!.response();
    assert.equal(await asked, 'next');
    timers.advance(60_000);
    assert.equal(probes.length, 2, 'no further probe');
  });

  it('are replaced by one probe at a time, even if the state changes twice while one is pending', async () => {
    const { timers, questions, probes } = setScene();
    const until = (signal: AbortSignal) =>
      new Promise<never>((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
    const response = Promise.withResolvers<string>();
    const lost = [assert.rejects(questions.ask(until), LateError)];
    timers.advance(1_000);
    lost.push(assert.rejects(questions.ask(until), LateError));
    const late = questions.ask(() => response.promise);
    timers.advance(1_000);
    await lost[0];
    await turn();
    timers.advance(250);
    assert.equal(probes.length, 1);
    response.resolve('late');
    await late;
    timers.advance(750);
    await lost[1];
    await turn();
    timers.advance(250);
    assert.equal(probes.length, 1, 'the first one is still pending');
    timers.advance(1_000);
    await turn();
    timers.advance(250);
    assert.equal(probes.length, 2);
  });

  it('cause no probes after a stop, even if one was pending', async () => {
    const { timers, questions, probes, fall } = setScene();
    await fall();
    timers.advance(250);
    questions.stop();
    timers.advance(2_000);
    await turn();
    assert.ok(probes[0]!.isAborted());
    timers.advance(60_000);
    assert.equal(probes.length, 1);
  });

  it('resume with any late response', async () => {
    const { timers, questions, probes, batcher, batches, fall } = setScene();
    const response = Promise.withResolvers<string>();
    const other = questions.ask(() => response.promise);
    timers.advance(1_000);
    await fall();
    response.resolve('late');
    await other;
    const asked = batcher.submit('next');
    await turn();
    batches[1]!.response();
    assert.equal(await asked, 'next');
    timers.advance(60_000);
    assert.equal(probes.length, 0);
  });

  it('do not consider the database down if it refuses them immediately', async () => {
    const { questions } = setScene();
    const refused = Object.assign(new Error('refused'), { code: 'ECONNREFUSED' });
    await assert.rejects(
      questions.ask(() => Promise.reject(refused)),
      refused,
    );
    assert.equal(await questions.ask(() => Promise.resolve('asked')), 'asked');
  });

  it('tell the client to retry only if the database could not respond', () => {
    for (const code of ['ECONNREFUSED', 'ECONNRESET', '57P01', '53300', '08006', '55P03']) {
      const error = refusedFor(Object.assign(new Error('no'), { code }));
      assert.ok(error instanceof GatewayError && error.kind === 'databaseDown', code);
      assert.deepEqual([error.status, error.code, error.retry], [500, 'internal_error', 'yes']);
      assert.deepEqual(error.headers, { 'retry-after': '2' });
    }
    for (const error of [new TypeError('a bug'), Object.assign(new Error('bad'), { code: '22003' })]) {
      assert.equal(refusedFor(error), error);
    }
  });
});
