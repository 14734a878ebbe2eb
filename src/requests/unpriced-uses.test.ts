import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createTestClock } from '../../test/support/clock.ts';
import { recordLogs } from '../../test/support/recorded-logger.ts';
import { UnpricedUses } from './unpriced-uses.ts';

const START = '2026-11-20T04:00:00Z';

function unpricedUses() {
  const clock = createTestClock(START);
  const { logger, lines } = recordLogs();
  return { clock, lines, uses: new UnpricedUses({ clock, logger }) };
}

describe('usage without a price', () => {
  it('is counted by model and price, with the time of the last occurrence', () => {
    const { clock, uses } = unpricedUses();
    uses.note('call_1', 'writer', 'acme', ['perWebSearch', 'speeds.fast']);
    clock.advance(1_000);
    uses.note('call_2', 'writer', 'acme', ['perWebSearch']);
    uses.note('call_3', 'talker', 'acme', ['perWebSearch']);
    const startMs = Date.parse(START);
    assert.deepEqual(uses.list(), [
      { model: 'talker', price: 'perWebSearch', calls: 1, lastAtMs: startMs + 1_000 },
      { model: 'writer', price: 'perWebSearch', calls: 2, lastAtMs: startMs + 1_000 },
      { model: 'writer', price: 'speeds.fast', calls: 1, lastAtMs: startMs },
    ]);
  });

  it('is logged at the first, tenth and hundredth occurrence', () => {
    const { lines, uses } = unpricedUses();
    for (let no = 1; no <= 150; no++) uses.note(`call_${no}`, 'writer', 'acme', ['perWebSearch']);
    assert.deepEqual(
      lines.map(({ level, details }) => [level, details.callId, details.calls]),
      [
        ['warn', 'call_1', 1],
        ['warn', 'call_10', 10],
        ['warn', 'call_100', 100],
      ],
    );
  });

  it('uses bounded memory, whatever names a provider invents', () => {
    const { uses } = unpricedUses();
    for (let no = 0; no < 2_000; no++) uses.note('call_1', 'writer', 'acme', [`serviceTiers.${no}`]);
    assert.equal(uses.list().length, 1_000);
    uses.note('call_2', 'writer', 'acme', ['serviceTiers.0']);
    assert.equal(uses.list().find(({ price }) => price === 'serviceTiers.0')?.calls, 2);
  });
});
