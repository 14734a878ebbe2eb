import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { createStoredResponseStore } from '../../src/accounting/repeats/stored-response-store.ts';
import { LateError } from '../../src/lib/batcher.ts';
import { openAccount } from '../support/accounting-builders.ts';
import { createTestDatabase, type TestDatabase, usualEngine } from '../support/database.ts';
import { partitionsOfFile } from '../support/scope.ts';
import { ACCOUNT, createNode } from './node.ts';

describe('a claim that the database carries out after its caller was refused and it was freed', {
  timeout: 30_000,
}, () => {
  let stored: TestDatabase;
  before(async () => {
    stored = await createTestDatabase(usualEngine, partitionsOfFile);
    await openAccount(stored.database, ACCOUNT, 1n);
  });
  after(() => stored.remove());

  it('is freed again, so that a repeat of the call does not wait until it runs out', async () => {
    const real = createStoredResponseStore(stored.database);
    const freed = Promise.withResolvers<void>();
    let late: (() => Promise<unknown>) | undefined;
    const node = createNode(stored.database, {
      freeLateMs: 1,
      store: {
        async claim(requests, terms) {
          if (late !== undefined) return real.claim(requests, terms);
          late = () => real.claim(requests, terms);
          throw new LateError();
        },
        async free(claims) {
          await real.free(claims);
          freed.resolve();
        },
      },
    });
    await assert.rejects(node.claim('key'));
    await freed.promise;
    assert.deepEqual(await late!(), ['claimed']);
    const again = await node.claim('key');
    assert.equal(again.state, 'claimed');
    if (again.state === 'claimed') again.claim.close();
    await node.storedResponses.drain();
  });
});
