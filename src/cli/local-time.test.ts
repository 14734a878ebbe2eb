import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { localTime } from './local-time.ts';

describe('local time', () => {
  const zone = process.env.TZ;
  after(() => {
    if (zone === undefined) delete process.env.TZ;
    else process.env.TZ = zone;
  });

  for (const [name, instant, shown] of [
    ['UTC', '2026-11-20T12:00:00.999Z', '2026-11-20 12:00:00 +00:00'],
    ['Asia/Shanghai', '2026-11-20T20:00:00Z', '2026-11-21 04:00:00 +08:00'],
    ['Asia/Kathmandu', '2026-11-20T20:00:00Z', '2026-11-21 01:45:00 +05:45'],
    ['America/St_Johns', '2026-01-01T00:00:00Z', '2025-12-31 20:30:00 -03:30'],
    ['Europe/Berlin', '2026-10-25T00:59:59Z', '2026-10-25 02:59:59 +02:00'],
    ['Europe/Berlin', '2026-10-25T01:00:00Z', '2026-10-25 02:00:00 +01:00'],
  ] as const) {
    it(`has the offset of its instant: ${instant} in ${name}`, () => {
      process.env.TZ = name;
      assert.equal(localTime(instant), shown);
    });
  }

  it('leaves other text unchanged', () => {
    assert.equal(localTime('never'), 'never');
  });
});
