import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createReadiness } from './readiness.ts';

describe('readiness', () => {
  it('is asked for once for all who want to know, and again after that', async () => {
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

  it('is denied in bounded time if there is no response, without asking more and more', async () => {
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
