import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  COOLDOWN_MS_MAX,
  type Cooldown,
  cooldownAfter,
  DEFAULT_COOLDOWN_MS_MAX,
  isRemembered,
  requestedCooldownMs,
} from './cooldown.ts';

const NOW_MS = Date.parse('2026-11-20T04:00:00Z');
const requested = (headers: Record<string, string>) => requestedCooldownMs(headers, NOW_MS);

describe('the cooldown that a provider requests', () => {
  it('is in seconds, a date, or milliseconds, which are more precise', () => {
    assert.equal(requested({ 'retry-after': '7' }), 7_000);
    assert.equal(requested({ 'retry-after': '0.5' }), 500);
    assert.equal(requested({ 'retry-after': 'Fri, 20 Nov 2026 04:00:09 GMT' }), 9_000);
    assert.equal(requested({ 'retry-after': '7', 'retry-after-ms': '6400' }), 6_400);
  });

  it('is 0 if the time has passed', () => {
    for (const headers of [
      { 'retry-after': '0' },
      { 'retry-after-ms': '0', 'retry-after': '7' },
      { 'retry-after': 'Fri, 20 Nov 2026 03:59:59 GMT' },
    ]) {
      assert.equal(requested(headers as Record<string, string>), 0, JSON.stringify(headers));
    }
  });

  it('is null if it is missing or invalid', () => {
    for (const headers of [{}, { 'retry-after': '-7' }, { 'retry-after': 'soon' }, { 'retry-after': '' }]) {
      assert.equal(requested(headers as Record<string, string>), null, JSON.stringify(headers));
    }
  });
});

/**
 * The 429 responses of one credential, one per line: `at 3 s` is the time of arrival, `sent at 1 s` the time of the request if earlier, `says 7 s`
 * the requested cooldown. `rests until` is the expected end of the cooldown.
 */
function play(transcript: string): void {
  let before: Cooldown | undefined;
  for (const line of transcript.trim().split('\n')) {
    const read = (pattern: RegExp) => {
      const [, seconds] = pattern.exec(line) ?? [];
      return seconds === undefined ? null : Number(seconds) * 1_000;
    };
    const atMs = read(/^ *at (\S+) s/)!;
    const limit = { atMs, sentAtMs: read(/sent at (\S+) s/) ?? atMs, requestedMs: read(/says (\S+) s/) };
    before = cooldownAfter(limit, before);
    assert.equal(before.untilMs, read(/rests until (\S+) s/), line);
  }
}

describe('the cooldown after a 429', () => {
  const transcripts: Readonly<Record<string, string>> = {
    'lasts as long as the provider requests, up to a minute': `
      at 0 s, says 7 s: rests until 7 s
      at 9 s, says 0 s: rests until 9 s
      at 10 s, says 3600 s: rests until 70 s`,
    'lasts a second if nothing is requested, and twice as long each time the limit is reached again': `
      at 0 s: rests until 1 s
      at 2 s: rests until 4 s
      at 4 s: rests until 8 s
      at 8 s: rests until 16 s
      at 20 s: rests until 36 s
      at 40 s: rests until 70 s
      at 129.9 s: rests until 159.9 s`,
    'lasts a second again if the previous one ended at least a minute ago': `
      at 0 s: rests until 1 s
      at 2 s: rests until 4 s
      at 64 s: rests until 65 s`,
    'is not extended if many calls reach the limit at the same time': `
      at 1 s: rests until 2 s
      at 1.1 s, sent at 0.5 s: rests until 2 s
      at 5 s, sent at 0.9 s: rests until 2 s
      at 5.5 s, sent at 5 s: rests until 7.5 s`,
    'does not grow after one that the provider requested': `
      at 0 s, says 20 s: rests until 20 s
      at 21 s: rests until 22 s`,
  };
  for (const [what, transcript] of Object.entries(transcripts)) it(what, () => play(transcript));

  it('is forgotten when nothing depends on it', () => {
    const said = { fromMs: 0, untilMs: 7_000, defaultMs: 0 };
    assert.deepEqual([isRemembered(said, 6_999), isRemembered(said, 7_000)], [true, false]);
    const unsaid = { fromMs: 0, untilMs: 1_000, defaultMs: 1_000 };
    const endMs = 1_000 + COOLDOWN_MS_MAX;
    assert.deepEqual([isRemembered(unsaid, endMs - 1), isRemembered(unsaid, endMs)], [true, false]);
    assert.ok(DEFAULT_COOLDOWN_MS_MAX <= COOLDOWN_MS_MAX);
  });
});
