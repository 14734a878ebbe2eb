import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { anyCharacter } from '../../../test/support/any-text.ts';
import { UPGRADE_FIRST } from '../../lib/earliest.ts';
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
    clientRequestId: null,
    usage: { source: 'observed', inputTokens: 3, outputTokens: 5 },
    price: { rule: 'base', prices: PRICES },
    priceFactorBasisPoints: 8_000,
    chargeNano: 2n ** 63n - 1n,
    costNano: 7n,
  } as unknown as CallOutcome,
  plan: { counts: true, tokens: 8 },
  key: { counts: true, chargeNano: 9n },
  rate: { tokens: 8 },
  kept: {
    accountId: 'acct_1',
    callId: 'claim_1',
    billedCallId: 'call_1',
    startedAtMs: 1,
    keptForMs: 86_400_000,
    head: { status: 200, headers: { 'content-type': 'application/json' }, callHeaders: {} },
    body: Buffer.from([0, 10, 13, 255]),
  },
  made: { keys: ['r:1', 'i:2'], model: 'm', providerId: 'p', atMs: 7 },
};

/** The parts of the record if it counts for nothing. */
const UNCOUNTED = { plan: { counts: false, tokens: 0 }, key: { counts: false, chargeNano: 0n }, rate: { tokens: 8 } };

describe('the end of a call', () => {
  it('survives the journal unchanged: amounts of any size, every byte of a response, and nulls', () => {
    assert.deepEqual(decodeRecord(encodeRecord(record)), record);
    const bare = { ...record, plan: null, key: null, rate: null, kept: null, made: null };
    assert.deepEqual(decodeRecord(encodeRecord(bare)), bare);
  });

  it('is one line, whatever the response and its headers contain', () => {
    const text = fc.string({ unit: anyCharacter });
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

  it('is rejected if it is damaged, with an error that does not quote it', () => {
    const damaged = encodeRecord(record).replace('"kept"', '"kept');
    assert.throws(() => decodeRecord(damaged), { message: 'a journal entry is not JSON' });
  });

  it('is rejected with advice if it is older than migration 44', () => {
    const { outcome } = record;
    const older: Partial<SettlementRecord>[] = [
      { ...record, made: undefined! },
      { ...record, rate: undefined! },
      { ...record, outcome: { ...outcome, priceFactorBasisPoints: undefined! } },
      { ...record, outcome: { ...outcome, clientRequestId: undefined! } },
      { ...record, outcome: { ...outcome, costNano: undefined! } },
      { ...record, kept: { ...record.kept!, keptForMs: undefined! } },
    ];
    for (const entry of older) {
      assert.throws(() => decodeRecord(encodeRecord(entry as SettlementRecord)), new RegExp(UPGRADE_FIRST));
    }
  });

  it('is rejected with its version if another version of the program wrote it', () => {
    assert.throws(() => decodeRecord('{"version":2,"ending":{}}'), /version 2/);
    assert.throws(() => decodeRecord('nothing'), /is not JSON/);
  });

  it('gives everything back, charges nothing and has no stored response if it is withheld', () => {
    const { outcome, ...rest } = withheld(record);
    const { status, httpStatus, errorCode, usage, chargeNano } = outcome;
    assert.deepEqual(
      { status, httpStatus, errorCode, usage, chargeNano },
      { status: 'failed', httpStatus: 500, errorCode: 'internal_error', usage: null, chargeNano: null },
    );
    assert.deepEqual(rest, { ...UNCOUNTED, kept: null, made: null });
    assert.deepEqual(withheld({ ...record, plan: null, key: null }).plan, null);
  });

  it('keeps the usage and the reason if it was delivered but not charged', () => {
    const { outcome, ...rest } = unpaid(record, 'repeat_charged');
    assert.deepEqual(outcome, { ...record.outcome, errorCode: 'repeat_charged', chargeNano: null });
    assert.deepEqual(rest, { ...UNCOUNTED, kept: null, made: record.made });
  });

  it('keeps its stored response if the database refuses its charge', () => {
    const { outcome, ...rest } = unpaid(record, 'charge_refused');
    assert.deepEqual(outcome, { ...record.outcome, errorCode: 'charge_refused', chargeNano: null });
    assert.deepEqual(rest, { ...UNCOUNTED, kept: record.kept, made: record.made });
  });
});
