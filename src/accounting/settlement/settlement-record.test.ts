import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import type { CallOutcome } from '../calls/call-outcome.ts';
import { decodeRecord, encodeRecord, type SettlementRecord, unpaid, withheld } from './settlement-record.ts';

const PRICES = { inputNanoPerMillion: 3_000n, perImageNano: { low: { default: 7n } }, perCallNano: null };

const record: SettlementRecord = {
  outcome: {
    accountId: 'acct_1',
    callId: 'call_1',
    status: 'succeeded',
    httpStatus: 200,
    errorCode: null,
    usage: { source: 'observed', inputTokens: 3, outputTokens: 5 },
    price: { rule: 'base', prices: PRICES },
    priceFactorBasisPoints: 8_000,
    chargeNano: 2n ** 63n - 1n,
  } as unknown as CallOutcome,
  plan: { counts: true, tokens: 8 },
  key: { counts: true, chargeNano: 9n },
  rate: { tokens: 8 },
  kept: {
    accountId: 'acct_1',
    callId: 'claim_1',
    billedCallId: 'call_1',
    startedAtMs: 1,
    head: { status: 200, headers: { 'content-type': 'application/json' }, callHeaders: {} },
    body: Buffer.from([0, 10, 13, 255]),
  },
  made: { keys: ['r:1', 'i:2'], model: 'm', providerId: 'p', atMs: 7 },
};

describe('the end of a call', () => {
  it('is the same after it was in the journal: amounts of any size, every byte of a response, and what is null', () => {
    assert.deepEqual(decodeRecord(encodeRecord(record)), record);
    const bare = { ...record, plan: null, key: null, rate: null, kept: null, made: null };
    assert.deepEqual(decodeRecord(encodeRecord(bare)), bare);
  });

  it('is one line, whatever a response and its headers contain', () => {
    const text = fc.string({ unit: 'binary' });
    fc.assert(
      fc.property(text, fc.uint8Array(), fc.bigInt(), (words, bytes, chargeNano) => {
        const said: SettlementRecord = {
          ...record,
          outcome: { ...record.outcome, requestId: words, chargeNano },
          kept: {
            ...record.kept!,
            head: { status: 200, headers: { words }, callHeaders: {} },
            body: Buffer.from(bytes),
          },
        };
        const line = encodeRecord(said);
        assert.doesNotMatch(line, /[\r\n]/);
        assert.deepEqual(decodeRecord(line), said);
      }),
    );
  });

  it('that is damaged in the journal cannot be read, and the error quotes nothing of it', () => {
    const damaged = encodeRecord(record).replace('"kept"', '"kept');
    assert.throws(() => decodeRecord(damaged), { message: 'a journal entry is not JSON' });
  });

  it('that was written before ends had continuation keys has none', () => {
    const { made: _, ...before } = record;
    assert.deepEqual(decodeRecord(encodeRecord(before as SettlementRecord)), { ...record, made: null });
  });

  it('that was written before accounts had price factors was at the list price', () => {
    const { priceFactorBasisPoints: _, ...outcome } = record.outcome;
    const before = { ...record, outcome: outcome as CallOutcome };
    const read = { ...record, outcome: { ...outcome, priceFactorBasisPoints: 10_000 } };
    assert.deepEqual(decodeRecord(encodeRecord(before)), read);
  });

  it('that was written before there were limits of tokens a minute has used none of them', () => {
    const { rate: _, ...before } = record;
    assert.deepEqual(decodeRecord(encodeRecord(before as SettlementRecord)), { ...record, rate: null });
  });

  it('of another version of the program is refused with its number', () => {
    assert.throws(() => decodeRecord('{"version":2,"ending":{}}'), /version 2/);
    assert.throws(() => decodeRecord('nothing'), /is not JSON/);
  });

  it('that is withheld gives everything back, charges nothing, and has no stored response', () => {
    const { outcome, ...rest } = withheld(record);
    const { status, httpStatus, errorCode, usage, chargeNano } = outcome;
    assert.deepEqual(
      { status, httpStatus, errorCode, usage, chargeNano },
      { status: 'failed', httpStatus: 500, errorCode: 'internal_error', usage: null, chargeNano: null },
    );
    assert.deepEqual(rest, {
      plan: { counts: false, tokens: 0 },
      key: { counts: false, chargeNano: 0n },
      rate: { tokens: 8 },
      kept: null,
      made: null,
    });
    assert.deepEqual(withheld({ ...record, plan: null, key: null }).plan, null);
  });

  it('that was delivered and is not paid for still says what was used, and why', () => {
    const { outcome, ...rest } = unpaid(record, 'repeat_charged');
    assert.deepEqual(outcome, { ...record.outcome, errorCode: 'repeat_charged', chargeNano: null });
    assert.deepEqual(rest, {
      plan: { counts: false, tokens: 0 },
      key: { counts: false, chargeNano: 0n },
      rate: { tokens: 8 },
      kept: null,
      made: record.made,
    });
  });

  it('that the database refuses to charge is kept for its repeats, for it was delivered', () => {
    const { outcome, ...rest } = unpaid(record, 'charge_refused');
    assert.deepEqual(outcome, { ...record.outcome, errorCode: 'charge_refused', chargeNano: null });
    assert.deepEqual(rest, {
      plan: { counts: false, tokens: 0 },
      key: { counts: false, chargeNano: 0n },
      rate: { tokens: 8 },
      kept: record.kept,
      made: record.made,
    });
  });
});
