import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { createTestClock } from '../support/clock.ts';
import { startGateway, type TestGateway } from '../support/gateway.ts';
import { ask } from '../support/people.ts';

/** Attempts that a home line may make before it is refused. */
const TRIES = 20;
/** Undelayed refusals per second. */
const UNDELAYED = 20;

describe(`attempts beyond the limit`, () => {
  let g: TestGateway;

  before(async () => {
    g = await startGateway({
      clock: createTestClock('2026-11-20T12:00:00Z'),
      server: 'trustedProxies: [127.0.0.1],',
    });
  });
  after(() => g.stop());

  const lookFrom = async (address: string): Promise<number> => {
    const body = { token: 'a link that nobody has' };
    return (await ask(g, 'POST', '/links/look', body, { 'x-forwarded-for': address })).status;
  };
  const inLine = (network: number): string => `2001:db8:1:42${network.toString(16).padStart(2, '0')}::1`;
  const statusesOf = (count: number, from: number) =>
    Promise.all(Array.from({ length: count }, (_, i) => lookFrom(inLine(from + i))));

  it('are throttled for a whole home line (IPv6 /56), but not for other lines', async () => {
    assert.deepEqual(new Set(await statusesOf(TRIES, 0)), new Set([404]));
    assert.deepEqual(new Set(await statusesOf(UNDELAYED, TRIES)), new Set([429]));
    // The clock stands still, so each refusal is delayed for a second; other lines are answered before them.
    const delayed = statusesOf(60, TRIES + UNDELAYED);
    const first = await Promise.race([delayed.then(() => 'delayed'), lookFrom('2001:db8:1:4300::1')]);
    assert.equal(first, 404);
    assert.deepEqual(new Set(await delayed), new Set([429]));
  });
});
