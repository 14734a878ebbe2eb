import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { outcomeOf, recordOf } from '../../../test/support/accounting-builders.ts';
import { BodyBudgets } from '../../http/body-budgets.ts';
import { openJournal } from '../../journal/journal.ts';
import { systemClock } from '../../lib/clock.ts';
import { silentLogger } from '../../lib/logger.ts';
import { JournaledResponses } from './journaled-responses.ts';
import { decodeRecord, type SettlementRecord } from './settlement-record.ts';

const directory = mkdtempSync(join(tmpdir(), 'faregate-journaled-'));
after(() => rmSync(directory, { recursive: true, force: true }));

let journals = 0;

/** A journal with this much disk for stored responses. */
async function openWithDisk(diskBytes: number) {
  const name = `node_${++journals}`;
  const journal = await openJournal({
    directory: join(directory, name),
    name,
    logger: silentLogger,
    clock: systemClock,
  });
  const budgets = new BodyBudgets({ memoryBytes: 0, diskBytes });
  return { journal, budgets, journaled: new JournaledResponses(journal, budgets) };
}

/** The end of a call with a stored response whose body has this size. */
function recordWith(callId: string, bodyBytes: number): SettlementRecord {
  const record = recordOf(outcomeOf('acct', callId, 7n));
  const head = { status: 200, headers: {}, callHeaders: {} };
  const claim = { accountId: 'acct', callId: `claim_${callId}`, billedCallId: callId, startedAtMs: 1, keptForMs: 1 };
  return { ...record, kept: { ...claim, head, body: Buffer.alloc(bodyBytes, 'x') } };
}

describe('ends of calls in the journal', () => {
  it('omit the body of the stored response if the account has used up its share of the disk', async () => {
    const { journal, budgets, journaled } = await openWithDisk(10_000);
    const first = await journaled.append(recordWith('a', 6_000));
    assert.equal(budgets.diskUsedBytes, 8_000);
    const second = decodeRecord(await journal.read(await journaled.append(recordWith('b', 6_000))));
    assert.equal(second.kept?.body, null);
    assert.deepEqual(second.kept.head, { status: 200, headers: {}, callHeaders: {}, hasNoRoom: true });
    assert.deepEqual(second.outcome, recordWith('b', 0).outcome);
    assert.equal(decodeRecord(await journal.read(first)).kept?.body?.length, 6_000);

    journaled.remove(first);
    assert.equal(budgets.diskUsedBytes, 0);
    const third = decodeRecord(await journal.read(await journaled.append(recordWith('c', 6_000))));
    assert.equal(third.kept?.body?.length, 6_000);
    await journal.close();
  });

  it('are read in small batches if they are large, at least one at a time', async () => {
    const MIB = 2 ** 20;
    const { journal, journaled } = await openWithDisk(2 ** 30);
    const small = await journaled.append(recordWith('small', 10));
    const large = await journaled.append(recordWith('large', 4 * MIB));
    const larger = await journaled.append(recordWith('larger', 12 * MIB));
    assert.equal(journaled.readAtOnce([small, null, large, small]), 4);
    assert.equal(journaled.readAtOnce([small, large, large, small]), 2);
    assert.equal(journaled.readAtOnce([larger, small]), 1);
    assert.equal(journaled.readAtOnce([]), 0);
    await journal.close();
  });
});
