import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createRecentMinutes, MINUTES } from './recent-minutes.ts';

const MINUTE_MS = 60_000;
const START_MS = Date.parse('2026-11-20T04:00:30Z');

describe('calls by minute', () => {
  function scene() {
    const asked: number[][] = [];
    let nowMs = START_MS;
    let fails = false;
    const read = createRecentMinutes({
      clock: { nowMs: () => nowMs },
      calls: {
        async countStarted(minutesMs) {
          asked.push([...minutesMs]);
          if (fails) throw new Error('away');
          return minutesMs.map(() => asked.length);
        },
      },
    });
    return {
      read,
      asked,
      pass: (ms: number) => (nowMs += ms),
      fail: (now: boolean) => (fails = now),
    };
  }

  it('are those of the last complete minutes, oldest first', async () => {
    const minutes = await scene().read();
    assert.equal(minutes.length, MINUTES);
    assert.equal(new Date(minutes[0]!.minuteMs).toISOString(), '2026-11-20T03:00:00.000Z');
    assert.equal(new Date(minutes.at(-1)!.minuteMs).toISOString(), '2026-11-20T03:59:00.000Z');
  });

  it('are counted again only while calls of the minute may still end', async () => {
    const { read, asked, pass } = scene();
    await read();
    pass(MINUTE_MS);
    const minutes = await read();
    assert.deepEqual(
      asked.map(({ length }) => length),
      // The minutes that ended less than five minutes before, and the new one.
      [60, 6],
    );
    assert.deepEqual(
      minutes.map(({ calls }) => calls),
      [...new Array(54).fill(1), ...new Array(6).fill(2)],
    );
  });

  it('are shared by those who ask within ten seconds, unless they could not be read', async () => {
    const { read, asked, pass, fail } = scene();
    await Promise.all([read(), read()]);
    pass(9_999);
    await read();
    assert.equal(asked.length, 1);
    pass(1);
    fail(true);
    await assert.rejects(read());
    fail(false);
    await read();
    assert.equal(asked.length, 3);
  });
});
