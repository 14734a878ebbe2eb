import { UPGRADE_FIRST } from '../../lib/earliest.ts';
import type { BudgetIds } from '../accounts/budget-ids.ts';
import type { CallOutcome } from '../calls/call-outcome.ts';
import type { MadeContinuedState } from '../continuation/continuation-key-store.ts';
import type { StoredClaim } from '../repeats/stored-response-store.ts';

/** What the end of a call stores, durably before the last byte of the response is sent. Plain data for a journal; safe to write twice. */
export interface SettlementRecord {
  readonly outcome: CallOutcome;
  /** Use of the plan; `null`: the call is not on a plan. */
  readonly plan: PlanUse | null;
  /** Use of budgets and limits of the key and its member; `null`: neither has any for the call. */
  readonly key: KeyUse | null;
  /** Use of limits per minute; `null`: no token limits apply. */
  readonly rate: RateUse | null;
  /** The response for repeated requests; `null`: none is stored. */
  readonly kept: StoredClaim | null;
  /** State that later calls of the account may refer to; `null`: none. */
  readonly made: MadeState | null;
}

export interface PlanUse {
  /** Whether the call keeps its slot: true if a success had begun. */
  readonly counts: boolean;
  /** Input and output tokens, including cached ones; 0 if the call does not count. */
  readonly tokens: number;
}

export interface KeyUse {
  readonly counts: boolean;
  readonly chargeNano: bigint;
  /** Member with limits; absent if the member has none. */
  readonly memberId?: string;
  /** Budgets for the model, the end user and the tags; absent if there are none. */
  readonly budgetIds?: BudgetIds;
}

interface RateUse {
  readonly tokens: number;
}

export interface MadeState extends MadeContinuedState {
  readonly keys: readonly string[];
}

const uncounted = (record: SettlementRecord): SettlementRecord => ({
  ...record,
  plan: record.plan && { counts: false, tokens: 0 },
  key: record.key && { ...record.key, counts: false, chargeNano: 0n },
});

/** Changes a record to that of a failed call: the reservation is released and nothing is charged. */
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

/** Changes a record to that of a delivered but free response. Repeated requests get it, unless a repeat ran on another node. */
export function unpaid(record: SettlementRecord, errorCode: 'repeat_charged' | 'charge_refused'): SettlementRecord {
  const outcome = { ...record.outcome, errorCode, chargeNano: null };
  return { ...uncounted(record), outcome, kept: errorCode === 'charge_refused' ? record.kept : null };
}

const VERSION = 1;
const MEMBER = 'ending';

/** Encodes a record as one line of JSON. A `bigint` or bytes become an object with one member that names the type. */
export function encodeRecord(record: SettlementRecord): string {
  return JSON.stringify(
    { version: VERSION, [MEMBER]: record },
    function (this: Record<string, unknown>, name, value: unknown) {
      // Reads the original value: `toJSON` has already turned a buffer into an object of numbers.
      const original = this[name];
      if (typeof original === 'bigint') return { $bigint: original.toString() };
      if (Buffer.isBuffer(original)) return { $bytes: original.toString('base64') };
      return value;
    },
  );
}

/** @throws if the text is not JSON, or was written by a version of the program whose entries this one cannot read */
export function decodeRecord(text: string): SettlementRecord {
  const { version, [MEMBER]: record } = parseEntry(text);
  if (version !== VERSION)
    throw new Error(`a journal entry has version ${version}, but this program reads only version ${VERSION}`);
  if (!isWhole(record)) throw new Error(`a journal entry was written before migration 44. ${UPGRADE_FIRST}`);
  return record;
}

/** Whether the members that were added last exist: a missing member must not be read as `null`. */
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
    // The parser's own message is not used: it quotes the text, which contains a response.
    throw new Error('a journal entry is not JSON');
  }
}
