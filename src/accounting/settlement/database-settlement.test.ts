import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { CONTEXT, outcomeOf, termsOf } from '../../../test/support/accounting-builders.ts';
import { patientQuestions } from '../../../test/support/questions.ts';
import { createCallBatches } from '../batches/call-batches.ts';
import { ClaimLostError } from '../repeats/stored-responses.ts';
import { createDatabaseSettlement } from './database-settlement.ts';
import type { SettlementRecord } from './settlement-record.ts';
import type { EndResult } from './store.ts';

const connectionLost = new Error('the connection was lost');
const dataFault = Object.assign(new Error('a value is bad'), { code: '22003' });

function recordOf(callId: string, hasKept = false): SettlementRecord {
  return {
    outcome: outcomeOf('acct', callId, 7n),
    plan: null,
    key: null,
    kept: hasKept
      ? {
          accountId: 'acct',
          callId: `claim_of_${callId}`,
          billedCallId: callId,
          startedAtMs: 1,
          keptForMs: 1,
          head: { status: 200, headers: {}, callHeaders: {} },
          body: Buffer.from('a body'),
        }
      : null,
    rate: null,
    made: null,
  };
}

/** A database settlement whose store fails as the test specifies. */
function setScene() {
  /** Statements in order. */
  const asked: string[] = [];
  const ended: string[] = [];
  const faults = { keep: [] as Error[], end: [] as Error[] };
  const lostClaims = new Set<string>();
  const settlement = createDatabaseSettlement({
    batches: createCallBatches({
      store: {
        async run({ ends }) {
          asked.push(`end ${ends.map(({ outcome }) => outcome.callId).join(' ')}`);
          const fault = faults.end.shift();
          if (fault !== undefined) throw fault;
          const results = ends.map(
            ({ outcome }): EndResult => (lostClaims.has(outcome.callId) ? 'claim_lost' : { availableNano: 1_000n }),
          );
          return { ends: results, admissions: [] };
        },
      },
      questions: patientQuestions(),
      terms: () => termsOf(CONTEXT),
      onEnded: ({ callId }) => void ended.push(callId),
    }),
    storedResponses: {
      async keep({ billedCallId }) {
        asked.push(`keep ${billedCallId}`);
        const fault = faults.keep.shift();
        if (fault !== undefined) throw fault;
      },
    },
  });
  return { settlement, asked, ended, faults, lostClaims };
}

describe('the end of a call in the database', () => {
  it('is written, returns the remaining money, and removes the call from the node', async () => {
    const { settlement, asked, ended } = setScene();
    assert.deepEqual(await settlement.end(recordOf('a')), { availableNano: 1_000n });
    assert.deepEqual([asked, ended], [['end a'], ['a']]);
  });

  it('is written after its stored response', async () => {
    const { settlement, asked } = setScene();
    await settlement.end(recordOf('a', true));
    assert.deepEqual(asked, ['keep a', 'end a']);
  });

  for (const error of [connectionLost, dataFault, new ClaimLostError()]) {
    it(`is not written if its response could not be stored: ${error.message}`, async () => {
      const { settlement, asked, ended, faults } = setScene();
      faults.keep.push(error);
      await assert.rejects(settlement.end(recordOf('a', true)), error);
      assert.deepEqual([asked, ended], [['keep a'], []]);
    });
  }

  it('is refused if its claim was lost between the two', async () => {
    const { settlement, ended, lostClaims } = setScene();
    lostClaims.add('a');
    const results = await Promise.allSettled([settlement.end(recordOf('a', true)), settlement.end(recordOf('b'))]);
    assert.ok(results[0].status === 'rejected' && results[0].reason instanceof ClaimLostError);
    assert.equal(results[1].status, 'fulfilled');
    assert.deepEqual(ended, ['b']);
  });

  it('belongs to this node until it is written, so that its reservation is not released between attempts', async () => {
    const { settlement, ended, faults } = setScene();
    faults.end.push(connectionLost);
    await assert.rejects(settlement.end(recordOf('a')), connectionLost);
    assert.deepEqual(ended, []);
    await settlement.end(recordOf('a'));
    assert.deepEqual(ended, ['a']);
  });

  it('shares a transaction with concurrent ends, and fails alone if its data is refused', async () => {
    const { settlement, asked, faults } = setScene();
    // The batch of all three, then the first one by itself.
    faults.end.push(dataFault, dataFault);
    const ends = ['a', 'b', 'c'].map((callId) => settlement.end(recordOf(callId)));
    const results = await Promise.allSettled(ends);
    assert.deepEqual(
      results.map(({ status }) => status),
      ['rejected', 'fulfilled', 'fulfilled'],
    );
    assert.deepEqual(asked, ['end a b c', 'end a', 'end b', 'end c']);
  });

  it('fails with the whole batch if the connection is lost', async () => {
    const { settlement, asked, faults } = setScene();
    faults.end.push(connectionLost);
    const ends = ['a', 'b'].map((callId) => settlement.end(recordOf(callId)));
    assert.deepEqual(
      (await Promise.allSettled(ends)).map(({ status }) => status),
      ['rejected', 'rejected'],
    );
    assert.deepEqual(asked, ['end a b']);
  });

  it('is waited for by a drain', async () => {
    const { settlement, ended } = setScene();
    const end = settlement.end(recordOf('a'));
    await settlement.drain();
    assert.deepEqual(ended, ['a']);
    await end;
  });
});
