import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { BatcherFullError } from './batcher-errors.ts';
import { type Logger, silentLogger } from './logger.ts';
import { createTwoPhase, type HeldCall, type TwoPhaseOptions } from './two-phase.ts';

const dataFault = new Error('a value is bad');
const connectionLost = new Error('the connection was lost');

const callOf = (callId: string): HeldCall => ({ accountId: 'acct', callId });

type Options = TwoPhaseOptions<HeldCall, string, HeldCall, string>;

/** The statements of the two phases. They record their batches, and fail on demand. */
function createStatements(options: Partial<Options> = {}) {
  const batches: { admit: string[][]; end: string[][]; release: string[][] } = { admit: [], end: [], release: [] };
  /** Errors of the next statements by operation; each is thrown once. */
  const failures: { admit: Error[]; end: Error[]; release: Error[] } = { admit: [], end: [], release: [] };

  const run = async (kind: keyof typeof batches, calls: readonly HeldCall[]): Promise<void> => {
    batches[kind].push(calls.map(({ callId }) => callId));
    const failure = failures[kind].shift();
    if (failure !== undefined) throw failure;
  };
  const calls = createTwoPhase<HeldCall, string, HeldCall, string>({
    async admit(requests) {
      await run('admit', requests);
      if (requests.some(({ callId }) => callId.startsWith('bad'))) throw dataFault;
      return requests.map(({ callId }) => `verdict on ${callId}`);
    },
    async end(outcomes) {
      await run('end', outcomes);
      return outcomes.map(({ callId }) => `end of ${callId}`);
    },
    release: (held) => run('release', held),
    isItemFault: (error) => error === dataFault,
    logger: silentLogger,
    retryDelayMs: 1,
    ...options,
  });
  return { calls, batches, failures };
}

describe('createTwoPhase', () => {
  it('admits concurrent calls in one batch, and returns its verdict to each call', async () => {
    const { calls, batches } = createStatements();
    const verdicts = await Promise.all(['a', 'b'].map((id) => calls.admit(callOf(id))));
    assert.deepEqual(verdicts, ['verdict on a', 'verdict on b']);
    assert.deepEqual(batches, { admit: [['a', 'b']], end: [], release: [] });
  });

  it('releases what an admission may have reserved if its result was lost', async () => {
    const { calls, batches, failures } = createStatements();
    failures.admit.push(connectionLost);
    const admissions = ['a', 'b'].map((id) => calls.admit(callOf(id)));
    for (const admission of admissions) await assert.rejects(admission, connectionLost);
    await calls.drain();
    assert.deepEqual(batches.release, [['a', 'b']]);
  });

  it('fails only the call whose values the database refuses, and releases nothing', async () => {
    const { calls, batches } = createStatements();
    const [good, bad] = [calls.admit(callOf('good')), calls.admit(callOf('bad'))];
    assert.equal(await good, 'verdict on good');
    await assert.rejects(bad, dataFault);
    await calls.drain();
    assert.deepEqual(batches, { admit: [['good', 'bad'], ['good'], ['bad']], end: [], release: [] });
  });

  it('refuses an admission beyond the queue limit, and releases nothing', async () => {
    const { calls, batches } = createStatements({ waitingItemsMax: 1 });
    const first = calls.admit(callOf('first'));
    await assert.rejects(calls.admit(callOf('second')), BatcherFullError);
    await first;
    await calls.drain();
    assert.deepEqual(batches.release, []);
  });

  it('retries releases while the database is down, including those of calls that fail meanwhile', async () => {
    const { calls, batches, failures } = createStatements();
    failures.admit.push(connectionLost, connectionLost);
    failures.release.push(connectionLost, connectionLost);
    await assert.rejects(calls.admit(callOf('a')));
    await assert.rejects(calls.admit(callOf('b')));
    while (batches.release.length < 3) await new Promise(setImmediate);
    assert.equal(await calls.admit(callOf('c')), 'verdict on c');
    await calls.drain();
    assert.deepEqual(batches.release.slice(2).flat().toSorted(), ['a', 'b']);
  });

  it('tries an end once, and leaves a failure to the caller', async () => {
    const { calls, batches, failures } = createStatements();
    failures.end.push(connectionLost);
    await assert.rejects(calls.end(callOf('a')), connectionLost);
    await calls.drain();
    assert.deepEqual(batches, { admit: [], end: [['a']], release: [] });
  });

  it('releases abandoned calls in the background', async () => {
    const { calls, batches, failures } = createStatements();
    failures.release.push(connectionLost);
    calls.abandon(callOf('a'));
    while (batches.release.length < 2) await new Promise(setImmediate);
    await calls.drain();
    assert.deepEqual(batches.release, [['a'], ['a']]);
  });

  it('drains when pending ends are stored', async () => {
    const { calls, batches } = createStatements();
    const ended = calls.end(callOf('a'));
    await calls.drain();
    assert.deepEqual(batches.end, [['a']]);
    await ended;
  });

  it('does not delay a shutdown if nothing can be released', async () => {
    const { calls, batches, failures } = createStatements();
    failures.admit.push(connectionLost);
    failures.release.push(...Array(1_000).fill(connectionLost));
    await assert.rejects(calls.admit(callOf('a')));
    await calls.drain();
    assert.ok(batches.release.length < 1_000, String(batches.release.length));
  });

  it('leaves calls beyond the limit to recovery, and logs that', async () => {
    const left: object[] = [];
    const logger: Logger = { ...silentLogger, error: (details) => left.push(details) };
    const { calls, batches, failures } = createStatements({ waitingItemsMax: 2, logger });
    failures.admit.push(connectionLost, connectionLost);
    for (const pair of [
      ['a', 'b'],
      ['c', 'd'],
    ]) {
      const results = await Promise.allSettled(pair.map((id) => calls.admit(callOf(id))));
      assert.deepEqual(new Set(results.map(({ status }) => status)), new Set(['rejected']));
    }
    await calls.drain();
    const released = batches.release.flat().length;
    assert.ok(released >= 2);
    assert.equal(released + left.length, 4);
  });
});
