import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { KeepAlive } from './keep-alive.ts';

/** Resolves when a new keep-alive has run this many times. */
async function silences(count: number): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  let runs = 0;
  const keepAlive = new KeepAlive(1, () => {
    if (++runs === count) resolve();
  });
  await promise;
  keepAlive.stop();
}

describe('a keep-alive', () => {
  it('runs repeatedly during silence', async () => {
    await silences(5);
  });

  it('does not run after it is stopped, even if it is postponed then', async () => {
    let runs = 0;
    const keepAlive = new KeepAlive(1, () => runs++);
    keepAlive.stop();
    keepAlive.postpone();
    keepAlive.stop();
    await silences(5);
    assert.equal(runs, 0);
  });

  it('can be stopped while it runs', async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    let runs = 0;
    const keepAlive = new KeepAlive(1, () => {
      runs++;
      keepAlive.stop();
      resolve();
    });
    await promise;
    await silences(5);
    assert.equal(runs, 1);
  });
});
