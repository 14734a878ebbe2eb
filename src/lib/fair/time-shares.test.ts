import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { until } from '../../../test/support/until.ts';
import { ShareBusyError, TimeShares } from './time-shares.ts';

/** A test says when work ends and what the clock shows; timers are real, and short. */
function scene(limits: Partial<ConstructorParameters<typeof TimeShares>[0]> = {}) {
  let nowMs = 0;
  const shares = new TimeShares({ atOnceMax: 2, waitingMax: 3, burstMs: 100, share: 0.5, ...limits }, () => nowMs);
  const ends: (() => void)[] = [];
  const begun: string[] = [];
  return {
    shares,
    begun,
    pass: (ms: number) => {
      nowMs += ms;
    },
    begin(name: string, id = 'a') {
      return shares.run(id, () => {
        begun.push(name);
        return new Promise<void>((resolve) => ends.push(resolve));
      });
    },
    /** Ends the work that began first, and waits for what follows from that. */
    async end(): Promise<void> {
      ends.shift()!();
      await new Promise((resolve) => setImmediate(() => setImmediate(resolve)));
    },
  };
}

describe('TimeShares', () => {
  it('limits what one tenant runs at a time, and runs the rest in order', async () => {
    const { begin, begun, end } = scene();
    const all = ['1', '2', '3', '4'].map((name) => begin(name));
    assert.deepEqual(begun, ['1', '2']);
    await end();
    assert.deepEqual(begun, ['1', '2', '3']);
    for (let left = 3; left > 0; left--) await end();
    await Promise.all(all);
    assert.deepEqual(begun, ['1', '2', '3', '4']);
  });

  it('does not delay other tenants', async () => {
    const { begin, begun, end } = scene({ atOnceMax: 1 });
    const all = [begin('1'), begin('2'), begin('other', 'b')];
    assert.deepEqual(begun, ['1', 'other']);
    for (let left = 3; left > 0; left--) await end();
    await Promise.all(all);
  });

  it('refuses work beyond the queue, and loses none that waits', async () => {
    const { begin, begun, end } = scene({ atOnceMax: 1, waitingMax: 1 });
    const all = [begin('1'), begin('2')];
    await assert.rejects(begin('3'), ShareBusyError);
    await end();
    await end();
    await Promise.all(all);
    assert.deepEqual(begun, ['1', '2']);
  });

  it('pauses a tenant that exceeds its burst until its share covers the work', async () => {
    const { shares, begin, pass, end } = scene({ waitingMax: 0 });
    const first = begin('1');
    pass(150);
    await end();
    await first;
    const refused = await begin('2').catch((error: unknown) => error);
    assert.ok(refused instanceof ShareBusyError);
    // 50 ms above the burst, at half of the time.
    assert.equal(refused.pauseMs, 100);
    pass(99);
    await assert.rejects(begin('2'), ShareBusyError);
    pass(1);
    const second = begin('2');
    await end();
    await second;
    assert.equal(shares.size, 1);
  });

  it('begins waiting work after the pause', async () => {
    const { begin, begun, pass, end } = scene();
    const first = begin('1');
    pass(105);
    await end();
    await first;
    const second = begin('2');
    assert.deepEqual(begun, ['1']);
    pass(10);
    await until(() => begun.length === 2);
    await end();
    await second;
  });

  it('does not count the time that work spends waiting for the work of others', async () => {
    const { shares, pass } = scene({ waitingMax: 0 });
    await shares.run('a', async (time) => {
      time.ask();
      time.wait();
      pass(10_000);
      time.goOn();
      pass(100);
      time.end();
    });
    assert.equal(await shares.run('a', async () => 'at once'), 'at once');
  });

  it('frees the slot of work that fails, and passes its error on', async () => {
    const { shares } = scene({ atOnceMax: 1 });
    const failure = new Error('it failed');
    await assert.rejects(
      shares.run('a', () => Promise.reject(failure)),
      (error) => error === failure,
    );
    assert.equal(await shares.run('a', async () => 'next'), 'next');
  });
});
