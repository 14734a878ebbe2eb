import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createReadiness } from './node-status.ts';

describe('readiness', () => {
  it('shares one ping among concurrent callers, and pings again afterwards', async () => {
    const pings: PromiseWithResolvers<unknown>[] = [];
    const isReady = createReadiness(() => {
      const ping = Promise.withResolvers<unknown>();
      pings.push(ping);
      return ping.promise;
    }, 60_000);
    const responses = [isReady(), isReady(), isReady()];
    assert.equal(pings.length, 1);
    pings[0]!.resolve([]);
    assert.deepEqual(await Promise.all(responses), [true, true, true]);
    const refused = isReady();
    pings[1]!.reject(new Error('the connection was refused'));
    assert.equal(await refused, false);
  });

  it('is false after the timeout if the ping does not end, without further pings', async () => {
    let pings = 0;
    const isReady = createReadiness(() => {
      pings++;
      return new Promise(() => undefined);
    }, 5);
    assert.equal(await isReady(), false);
    assert.equal(await isReady(), false);
    assert.equal(pings, 1);
  });
});
