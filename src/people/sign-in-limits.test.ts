import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { SIGN_IN_RATES, SignInLimits, subjectOf } from './sign-in-limits.ts';

const NETWORK = '192.0.2.7';
const { pair, network, person, failure } = SIGN_IN_RATES;

describe('sign-in limits', () => {
  let nowMs = 1_000_000;
  const begin = () => new SignInLimits(() => nowMs);
  const times = (count: number, attempt: (i: number) => number) => Array.from({ length: count }, (_, i) => attempt(i));

  it('limit one user from one network, and recover within a minute', () => {
    const limits = begin();
    assert.deepEqual(
      times(pair.burst, () => limits.begin('lin', NETWORK)),
      Array(pair.burst).fill(0),
    );
    assert.equal(limits.begin('lin', NETWORK), pair.everyMs);
    // Rejected attempts are not counted.
    assert.equal(limits.begin('lin', NETWORK), pair.everyMs);
    nowMs += pair.everyMs;
    assert.equal(limits.begin('lin', NETWORK), 0);
    assert.ok(limits.begin('lin', NETWORK) > 0);
    assert.ok(pair.everyMs <= 60_000 && person.everyMs <= 60_000 && network.everyMs <= 60_000);
  });

  it('store a key of fixed length for each user name', () => {
    assert.equal(subjectOf('\ufdfa'.repeat(200).normalize('NFKC')).length, subjectOf('lin').length);
    assert.notEqual(subjectOf('lin'), subjectOf('wei'));
  });

  it('do not lock a user out because of attempts from other networks', () => {
    const limits = begin();
    times(50, () => limits.begin('lin', '198.51.100.1'));
    assert.equal(limits.begin('lin', NETWORK), 0);
    assert.equal(limits.begin('wei', '198.51.100.1'), 0);
  });

  it('limit one network across all users', () => {
    const limits = begin();
    const tried = times(network.burst + 1, (i) => limits.begin(`person ${i}`, NETWORK));
    assert.deepEqual(
      tried.filter((wait) => wait > 0),
      [network.everyMs],
    );
    assert.equal(limits.begin('person 0', '198.51.100.1'), 0);
  });

  it('limit an IPv6 /56 and an IPv6 /48', () => {
    const limits = begin();
    const line = (i: number) => `2001:db8:1:${(0x4200 + i).toString(16)}::/64`;
    const tried = times(SIGN_IN_RATES.line.burst + 1, (i) => limits.begin(`person ${i}`, line(i)));
    assert.deepEqual(
      tried.filter((wait) => wait > 0),
      [SIGN_IN_RATES.line.everyMs],
    );
    assert.equal(limits.begin('neighbour', '2001:db8:1:4300::/64'), 0);
    times(SIGN_IN_RATES.site.burst, (i) =>
      limits.begin(`person ${i}`, `2001:db8:1:${(0x1000 + i * 64).toString(16)}::/64`),
    );
    assert.ok(limits.begin('neighbour', '2001:db8:1:4300::/64') > 0);
    assert.equal(limits.begin('elsewhere', '2001:db8:2:4300::/64'), 0);
    const links = times(SIGN_IN_RATES.failure.burst + 1, (i) => limits.beginTry(line(i)));
    assert.ok(links.at(-1)! > 0);
  });

  it('exempt a user who has signed in from that network from the limits of wider networks', () => {
    const limits = begin();
    const home = '2001:db8:1:4201::/64';
    limits.begin('lin', home);
    limits.succeeded('lin', home);
    assert.equal(limits.isKnown('lin', home), true);
    times(SIGN_IN_RATES.line.burst, (i) => limits.begin(`person ${i}`, home));
    assert.ok(limits.begin('stranger', home) > 0);
    assert.equal(limits.begin('lin', home), 0);
  });

  it('limit one user across all networks, except networks the user has signed in from', () => {
    const limits = begin();
    assert.equal(limits.begin('lin', NETWORK), 0);
    limits.succeeded('lin', NETWORK);
    times(person.burst, (i) => limits.begin('lin', `198.51.100.${i}`));
    assert.equal(limits.begin('lin', '203.0.113.1'), person.everyMs);
    assert.equal(limits.begin('lin', NETWORK), 0);
  });

  it('limit one network that tries invalid links', () => {
    const limits = begin();
    const useful = times(200, () => {
      const wait = limits.beginTry(NETWORK);
      limits.tryWorked(NETWORK);
      return wait;
    });
    assert.ok(useful.every((wait) => wait === 0));
    assert.deepEqual(
      times(failure.burst + 1, () => limits.beginTry(NETWORK)),
      [...Array(failure.burst).fill(0), failure.everyMs],
    );
    assert.equal(limits.beginTry('198.51.100.1'), 0);
    assert.equal(limits.begin('lin', NETWORK), 0);
    nowMs += failure.everyMs;
    assert.equal(limits.beginTry(NETWORK), 0);
  });

  it('do not count successful attempts, which also reset the count of failed ones', () => {
    const limits = begin();
    times(pair.burst - 1, () => limits.begin('lin', NETWORK));
    assert.equal(limits.begin('lin', NETWORK), 0);
    limits.succeeded('lin', NETWORK);
    assert.deepEqual(
      times(pair.burst, () => limits.begin('lin', NETWORK)),
      Array(pair.burst).fill(0),
    );
    const often = times(500, () => {
      const wait = limits.begin('wei', '198.51.100.1');
      limits.succeeded('wei', '198.51.100.1');
      return wait;
    });
    assert.ok(often.every((wait) => wait === 0));
  });
});
