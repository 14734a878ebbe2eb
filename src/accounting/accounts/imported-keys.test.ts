import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createTestClock } from '../../../test/support/clock.ts';
import { patientQuestions } from '../../../test/support/questions.ts';
import { createImportedKeys } from './imported-keys.ts';

/** `importedKeys` over a database whose reads the test resolves. */
function scene() {
  const clock = createTestClock('2026-11-27T00:00:00Z');
  const reads: PromiseWithResolvers<boolean>[] = [];
  const read = (): Promise<boolean> => {
    const next = Promise.withResolvers<boolean>();
    reads.push(next);
    return next.promise;
  };
  return { clock, reads, importedKeys: createImportedKeys(read, patientQuestions(), clock) };
}

describe('whether there are imported keys', () => {
  it('is read once for concurrent callers and trusted for a minute', async () => {
    const { clock, reads, importedKeys } = scene();
    const asked = [importedKeys.areThere(), importedKeys.areThere()];
    reads[0]!.resolve(false);
    assert.deepEqual(await Promise.all(asked), [false, false]);
    clock.advance(59_999);
    assert.equal(await importedKeys.areThere(), false);
    assert.equal(reads.length, 1);
    clock.advance(1);
    const again = importedKeys.areThere();
    reads[1]!.resolve(true);
    assert.equal(await again, true);
  });

  it('is read again after a change, and a read that began before it is ignored', async () => {
    const { reads, importedKeys } = scene();
    const before = importedKeys.areThere();
    importedKeys.forget();
    const after = importedKeys.areThere();
    reads[1]!.resolve(true);
    assert.equal(await after, true);
    reads[0]!.resolve(false);
    assert.equal(await before, false);
    assert.equal(await importedKeys.areThere(), true);
    assert.equal(reads.length, 2);
  });

  it('stays as last read while the database is down; it starts as true, so that a lookup reports the failure', async () => {
    const { clock, reads, importedKeys } = scene();
    const first = importedKeys.areThere();
    reads[0]!.reject(new Error('down'));
    assert.equal(await first, true);
    const second = importedKeys.areThere();
    reads[1]!.resolve(false);
    assert.equal(await second, false);
    clock.advance(60_000);
    const third = importedKeys.areThere();
    reads[2]!.reject(new Error('down'));
    assert.equal(await third, false);
  });
});
