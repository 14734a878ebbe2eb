import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { startKeepAlive } from './keep-alive.ts';

/** Resolves when a keep-alive of its own has been heard that often. */
async function silences(count: number): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  let heard = 0;
  const keepAlive = startKeepAlive(1, () => {
    if (++heard === count) resolve();
  });
  await promise;
  keepAlive.stop();
}

describe('a keep-alive', () => {
  it('speaks again and again while nothing happens', async () => {
    await silences(5);
  });

  it('speaks no more once it is stopped, whatever happens after that', async () => {
    let spoken = 0;
    const keepAlive = startKeepAlive(1, () => spoken++);
    keepAlive.stop();
    keepAlive.postpone();
    keepAlive.stop();
    await silences(5);
    assert.equal(spoken, 0);
  });

  it('can be stopped while it speaks', async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    let spoken = 0;
    const keepAlive = startKeepAlive(1, () => {
      spoken++;
      keepAlive.stop();
      resolve();
    });
    await promise;
    await silences(5);
    assert.equal(spoken, 1);
  });
});
