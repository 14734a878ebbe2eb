import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { CredentialFileError, type NamedCredential } from '../../config/provider-credentials.ts';
import { COOLDOWN_MS_MAX } from './cooldown.ts';
import { Credentials, REFUSED_MS } from './credentials.ts';

const NOW_MS = Date.parse('2026-11-20T04:00:00Z');

const named = (...values: readonly string[]): NamedCredential[] =>
  values.map((value, index) => ({ name: `apiKeys.${index}`, value, file: null }));

/** Credentials with these values, and all values reported as secret. */
function keysWith(keys: readonly NamedCredential[], readFile?: (path: string) => string) {
  const hidden: string[] = [];
  return { keys: new Credentials(keys, (key) => hidden.push(key), readFile), hidden };
}

/** The credentials for consecutive calls of a model. */
function used(keys: Credentials, count: number, nowMs = NOW_MS, model = 'm'): string {
  return Array.from({ length: count }, () => keys.next(model, [], true, nowMs)).join(' ');
}

/** The credentials that one call tries if all fail. */
function triedBy(keys: Credentials, mayHaveCooldown = true, nowMs = NOW_MS): string {
  const tried: string[] = [];
  for (;;) {
    const key = keys.next('m', tried, mayHaveCooldown, nowMs);
    if (key === null) return tried.join(' ');
    tried.push(key);
  }
}

const limit = (requestedMs: number | null, atMs = NOW_MS, sentAtMs = atMs) => ({ sentAtMs, atMs, requestedMs });

const states = (keys: Credentials, nowMs = NOW_MS, model = 'm'): string =>
  keys
    .status(model, nowMs)
    .map(({ state }) => state)
    .join(' ');

describe('credentials of a provider', () => {
  it('are used in rotation, each once per call', () => {
    const { keys, hidden } = keysWith(named('a', 'b', 'c'));
    assert.equal(used(keys, 7), 'a b c a b c a');
    assert.equal(triedBy(keys), 'b c a');
    assert.deepEqual(hidden, ['a', 'b', 'c']);
  });

  it('are deduplicated', () => {
    assert.equal(used(keysWith(named('a', 'b', 'a')).keys, 4), 'a b a b');
  });

  describe('that are refused', () => {
    it('are those that calls would use only if all are', () => {
      const { keys } = keysWith(named('a', 'b', 'a'));
      assert.deepEqual(keys.usableNames(NOW_MS), ['apiKeys.0', 'apiKeys.1']);
      keys.refused('b', 401, NOW_MS);
      assert.deepEqual(keys.usableNames(NOW_MS), ['apiKeys.0']);
      keys.refused('a', 401, NOW_MS);
      assert.deepEqual(keys.usableNames(NOW_MS), ['apiKeys.0', 'apiKeys.1']);
    });

    it('are skipped for ten minutes while there are others', () => {
      const { keys } = keysWith(named('a', 'b', 'c'));
      keys.refused('b', 401, NOW_MS);
      assert.equal(used(keys, 4), 'a c a c');
      assert.equal(triedBy(keys), 'a c');
      assert.deepEqual(keys.status('m', NOW_MS)[1], {
        name: 'apiKeys.1',
        file: null,
        command: null,
        expiresAtMs: null,
        state: 'refused',
        status: 401,
        triedAgainAtMs: NOW_MS + REFUSED_MS,
        usedAtMs: null,
        vendorLimits: [],
      });
      assert.equal(keys.status('m', NOW_MS)[2]!.usedAtMs, NOW_MS);
      assert.equal(used(keys, 4, NOW_MS + REFUSED_MS - 1), 'a c a c');
      assert.equal(used(keys, 3, NOW_MS + REFUSED_MS), 'a b c');
      assert.equal(states(keys, NOW_MS + REFUSED_MS), 'active active active');
    });

    it('are tried again after a reload', () => {
      const { keys } = keysWith(named('a', 'b'));
      keys.refused('a', 401, NOW_MS);
      keys.replace(named('a', 'b'));
      assert.equal(states(keys), 'active active');
    });

    it('are used again if the provider accepts them in a later call', () => {
      const { keys } = keysWith(named('a', 'b'));
      keys.refused('a', 401, NOW_MS);
      keys.accepted('a', 'm', NOW_MS - 1);
      assert.equal(states(keys), 'refused active', 'a call that was sent before says nothing');
      keys.accepted('a', 'm', NOW_MS);
      assert.equal(states(keys), 'active active');
    });

    it('are tried if all are refused: only the one refused first', () => {
      const { keys } = keysWith(named('a', 'b', 'c'));
      keys.refused('b', 402, NOW_MS);
      keys.refused('a', 402, NOW_MS + 1);
      keys.refused('c', 402, NOW_MS + 2);
      assert.equal(triedBy(keys, true, NOW_MS + 3), 'b');
      keys.refused('b', 402, NOW_MS + 4);
      assert.equal(triedBy(keys, true, NOW_MS + 5), 'a');
      assert.ok(keys.cooldownUntilMs('m', NOW_MS + 5) <= NOW_MS + 5);
    });

    it('are used if there is only one', () => {
      const { keys } = keysWith(named('a'));
      keys.refused('a', 401, NOW_MS);
      assert.equal(used(keys, 2), 'a a');
    });
  });

  describe('with a rate limit', () => {
    it('have a cooldown for that model as requested by the provider, while there are others', () => {
      const { keys } = keysWith(named('a', 'b'));
      keys.startCooldown('a', 'm', limit(7_000));
      assert.equal(used(keys, 3), 'b b b');
      assert.equal(used(keys, 2, NOW_MS, 'another'), 'a b');
      assert.deepEqual([states(keys), states(keys, NOW_MS, 'another')], ['resting active', 'active active']);
      assert.ok(keys.cooldownUntilMs('m', NOW_MS) <= NOW_MS);
      assert.equal(used(keys, 2, NOW_MS + 7_000), 'a b');
    });

    it('have a cooldown of at most a minute', () => {
      const { keys } = keysWith(named('a'));
      keys.startCooldown('a', 'm', limit(3_600_000));
      assert.equal(keys.cooldownUntilMs('m', NOW_MS), NOW_MS + COOLDOWN_MS_MAX);
    });

    it('are used if all have a cooldown: the one that ends first, unless the call already reached its limit', () => {
      const { keys } = keysWith(named('a', 'b', 'c'));
      keys.startCooldown('a', 'm', limit(9_000));
      keys.startCooldown('b', 'm', limit(5_000));
      keys.refused('c', 401, NOW_MS);
      assert.equal(keys.cooldownUntilMs('m', NOW_MS), NOW_MS + 5_000);
      assert.equal(used(keys, 2), 'b b');
      assert.equal(triedBy(keys), 'b a');
      assert.equal(triedBy(keys, false), '');
      assert.ok(keys.cooldownUntilMs('m', NOW_MS + 5_000) <= NOW_MS + 5_000);
    });

    it('have a cooldown of a second if the provider requests none, which ends when a call is accepted', () => {
      const { keys } = keysWith(named('a', 'b'));
      keys.startCooldown('a', 'm', limit(null));
      assert.equal(used(keys, 2, NOW_MS + 999), 'b b');
      keys.accepted('a', 'another', NOW_MS);
      keys.accepted('a', 'm', NOW_MS - 1);
      assert.equal(states(keys), 'resting active');
      keys.accepted('a', 'm', NOW_MS);
      assert.equal(states(keys), 'active active');
      keys.startCooldown('a', 'm', limit(7_000));
      keys.accepted('a', 'm', NOW_MS);
      assert.equal(states(keys), 'resting active', 'the provider asked for that one');
    });

    it('keep cooldowns across a reload', () => {
      const { keys } = keysWith(named('a', 'b'));
      keys.startCooldown('b', 'm', limit(7_000));
      keys.replace(named('b', 'c'));
      assert.equal(states(keys), 'resting active');
    });
  });

  describe('from a file', () => {
    const inFile: NamedCredential = { name: 'apiKey', value: 'old', file: '/run/secrets/key' };

    it('are read again after a refusal, and a new value is used immediately', () => {
      const { keys, hidden } = keysWith([inFile], () => 'new');
      assert.equal(keys.next('m', [], true, NOW_MS), 'old');
      keys.refused('old', 401, NOW_MS);
      assert.equal(keys.next('m', ['old'], true, NOW_MS), 'new');
      assert.equal(states(keys), 'active');
      assert.deepEqual(hidden, ['old', 'new']);
      // A call in flight with the old value does not affect the new one.
      keys.refused('old', 401, NOW_MS);
      assert.equal(states(keys), 'active');
      assert.deepEqual([keys.nameOf('new'), keys.nameOf('old')], ['apiKey', null]);
    });

    it('are refused if the file is unchanged or missing', () => {
      for (const readFile of [
        () => 'old',
        () => {
          throw new CredentialFileError('There is no such file.');
        },
      ]) {
        const { keys } = keysWith([inFile], readFile);
        keys.refused('old', 401, NOW_MS);
        assert.equal(states(keys), 'refused');
        assert.equal(keys.next('m', ['old'], true, NOW_MS), null);
      }
    });
  });

  it('do not retain cooldowns that have ended', () => {
    const { keys } = keysWith(named('a'));
    for (let i = 0; i < 1_000; i++) keys.startCooldown('a', `model-${i}`, limit(10, NOW_MS + 10 * i));
    assert.equal(keys.cooldownUntilMs('model-999', NOW_MS + 9_990), NOW_MS + 10_000);
    assert.equal(keys.cooldownUntilMs('model-1', NOW_MS), 0);
  });
});
