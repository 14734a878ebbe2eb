import { UPGRADE_FIRST } from '../../lib/earliest.ts';
import type { CallOutcome } from '../calls/call-outcome.ts';
import type { MadeContinuedState } from '../continuation/continuation-key-store.ts';
import type { StoredClaim } from '../repeats/stored-response-store.ts';

/**
 * The whole end of a call: everything that has to be durable before the last byte of its response leaves. Plain data, and
 * each part is safe to repeat, so that it can go to a journal and from there into the database.
 */
export interface SettlementRecord {
  /** The money and the record. */
  readonly outcome: CallOutcome;
  /** What it used of the account's Coding Plan; `null` for a call that is not on one. */
  readonly plan: PlanUse | null;
  /** What it used of the limits of its key, and of the person whose key it is; `null` if neither has any. */
  readonly key: KeyUse | null;
  /** What it used of limits of tokens a minute; `null` if it has none. */
  readonly rate: RateUse | null;
  /** The stored response for its repeats; `null` if none is stored. */
  readonly kept: StoredClaim | null;
  /** What later calls of its account may refer to; `null` if its response carried no such state. */
  readonly made: MadeState | null;
}

export interface PlanUse {
  /** Whether the call keeps its slot: its success had begun. */
  readonly counts: boolean;
  /** All tokens of input and output, cached ones included; 0 if the call does not count. */
  readonly tokens: number;
}

export interface KeyUse {
  readonly counts: boolean;
  readonly chargeNano: bigint;
  /** The person, if that person has limits. */
  readonly memberId?: string;
}

interface RateUse {
  /** All tokens of input and output, cached ones included. */
  readonly tokens: number;
}

/** State at a provider that a response refers to: continuation keys, and the provider that made what they stand for. */
export interface MadeState extends MadeContinuedState {
  readonly keys: readonly string[];
}

/** The same call, which counts for no plan and no key. */
const uncounted = (record: SettlementRecord): SettlementRecord => ({
  ...record,
  plan: record.plan && { counts: false, tokens: 0 },
  key: record.key && { ...record.key, counts: false, chargeNano: 0n },
});

/** The same call ended with nothing: its reservation is given back, nothing is charged, and its record says failed. */
export function withheld(record: SettlementRecord): SettlementRecord {
  const { outcome } = record;
  const failed = {
    status: 'failed',
    httpStatus: 500,
    errorCode: 'internal_error',
    usage: null,
    chargeNano: null,
  } as const;
  return { ...uncounted(record), outcome: { ...outcome, ...failed }, kept: null, made: null };
}

/**
 * The same call, delivered and not charged; `errorCode` says why. Its repeats get what was delivered, unless one of them
 * ran elsewhere.
 */
export function unpaid(record: SettlementRecord, errorCode: 'repeat_charged' | 'charge_refused'): SettlementRecord {
  const outcome = { ...record.outcome, errorCode, chargeNano: null };
  return { ...uncounted(record), outcome, kept: errorCode === 'charge_refused' ? record.kept : null };
}

const VERSION = 1;
/** What journals call the record. */
const MEMBER = 'ending';

/** As one line of JSON. `bigint` and bytes, which JSON does not have, are objects with one tagged member. */
export function encodeRecord(record: SettlementRecord): string {
  return JSON.stringify(
    { version: VERSION, [MEMBER]: record },
    function (this: Record<string, unknown>, name, value: unknown) {
      // By now `toJSON` has made an object of numbers of a buffer.
      const original = this[name];
      if (typeof original === 'bigint') return { $bigint: original.toString() };
      if (Buffer.isBuffer(original)) return { $bytes: original.toString('base64') };
      return value;
    },
  );
}

/** @throws if it is no JSON, or was written by a version of this program that this one does not read. */
export function decodeRecord(text: string): SettlementRecord {
  const { version, [MEMBER]: record } = parseEntry(text);
  if (version !== VERSION) throw new Error(`a journal entry of version ${version} cannot be read; this is ${VERSION}`);
  if (!isWhole(record)) throw new Error(`a journal entry was written before migration 44. ${UPGRADE_FIRST}`);
  return record;
}

/** Whether an entry has what was added to entries last, so that nothing of the end of a call is taken to be nothing. */
function isWhole({ outcome, rate, kept, made }: Partial<SettlementRecord>): boolean {
  const { priceFactorBasisPoints, clientRequestId, costNano } = outcome ?? {};
  const added = [priceFactorBasisPoints, clientRequestId, costNano, rate, made, kept === null ? null : kept?.keptForMs];
  return added.every((value) => value !== undefined);
}

function parseEntry(text: string): { version: number; [MEMBER]: SettlementRecord } {
  try {
    return JSON.parse(text, (_name, value: unknown) => {
      if (typeof value !== 'object' || value === null) return value;
      if ('$bigint' in value) return BigInt(String(value.$bigint));
      if ('$bytes' in value) return Buffer.from(String(value.$bytes), 'base64');
      return value;
    });
  } catch {
    // The error of the parser quotes the text, which has a response in it.
    throw new Error('a journal entry is not JSON');
  }
}
