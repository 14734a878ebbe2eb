import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createTestClock } from '../../../test/support/clock.ts';
import { patientQuestions } from '../../../test/support/questions.ts';
import { createImportedKeys } from './imported-keys.ts';

/** Whether there are such keys, with a database whose responses a test gives one by one. */
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

describe('whether other programs have made keys', () => {
  it('is read once for all who ask at a time, and not again for a minute', async () => {
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

  it('is read anew after a change, though a reading of before comes in later', async () => {
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

  it('is what was read last while the database is down, and before that true, so that a look-up says that it is down', async () => {
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
