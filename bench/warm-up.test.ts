import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { LoadOrder, LoadResult } from './load/order.ts';
import { parseScenarios } from './scenarios.ts';
import { passedOn, type Target } from './targets.ts';
import { type WarmUp, warmUp } from './warm-up.ts';

/** Warms up a target whose calls take these µs in consecutive slices; each slice has 1,000 calls. */
async function run(
  name: string,
  given: WarmUp,
  micros: readonly number[],
): Promise<{ orders: string[]; lines: string[] }> {
  const [scenario] = parseScenarios(name);
  const orders: string[] = [];
  const lines: string[] = [];
  let [cpuMicros, nowMs, slices] = [0, 0, 0];
  const target: Target = {
    name: 'local',
    version: 'after',
    call: passedOn(scenario!, 'http://127.0.0.1:9'),
    read: async () => ({ cpuMicros, rssBytes: 0, inUseBytes: null, delayP99Ms: null, database: null }),
    stop: async () => undefined,
  };
  const carryOut = async (order: LoadOrder): Promise<LoadResult> => {
    orders.push('call' in order ? `${order.kind}: ${order.call.response}` : order.kind);
    if ('seconds' in order) {
      nowMs += order.seconds * 1_000;
      cpuMicros += 1_000 * micros[slices++]!;
    }
    const times = { p50Ms: null, p99Ms: null, p999Ms: null };
    return { done: 1_000, failures: 0, firstFailure: null, requestBytes: 0, elapsedMs: 0, ...times };
  };
  for (const what of scenario!.unit === 'streams' ? (['calls', 'chunks'] as const) : (['calls'] as const)) {
    await warmUp(
      scenario!,
      what,
      target,
      given,
      carryOut,
      (line) => lines.push(line),
      () => nowMs,
    );
  }
  return { orders, lines };
}

describe('warm-up of a target', () => {
  it('continues until the cost of a call is steady, and reports its duration', async () => {
    const { orders, lines } = await run('chat-64', { seconds: null, atMostSeconds: 6 }, [300, 200, 143, 142, 143]);
    assert.equal(orders.length, 5);
    assert.deepEqual(lines, ['chat-64: local, after is warm after 5 s, 143 µs a call']);
  });

  it('reports that it ended at its limit', async () => {
    const { lines } = await run('chat-64', { seconds: null, atMostSeconds: 4 }, [300, 200, 150, 120]);
    assert.deepEqual(lines, [
      'chat-64: local, after may not be warm: its limit of 4 s is over, and the last seconds took 200, 150, 120 µs a call',
    ]);
  });

  it('with seconds: until the target has used that much CPU, and at most twice as long', async () => {
    // Half a second of CPU per slice, and a tenth of that.
    assert.equal((await run('chat-64', { seconds: 2, atMostSeconds: 20 }, Array(9).fill(500))).orders.length, 4);
    assert.equal((await run('chat-64', { seconds: 2, atMostSeconds: 20 }, Array(9).fill(50))).orders.length, 8);
  });

  it('streams come after calls, each with half of the limit', async () => {
    const { orders, lines } = await run('streams-500', { seconds: null, atMostSeconds: 6 }, Array(6).fill(100));
    assert.deepEqual(orders, [
      ...['closed: chat', 'closed: chat', 'closed: chat'],
      'begin streams: stream',
      ...['watch streams', 'watch streams', 'watch streams'],
      'end streams',
    ]);
    assert.deepEqual(lines, [
      'streams-500: local, after is warm after 3 s, 100 µs a call',
      'streams-500: local, after is warm after 3 s, 100 µs a chunk',
    ]);
  });
});
