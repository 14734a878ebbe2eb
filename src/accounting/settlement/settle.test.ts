import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { unusedSubscription } from '../../../test/support/account-in-memory.ts';
import { periodsAt, periodsOf } from '../../../test/support/accounting-builders.ts';
import { unusedCounts } from '../../../test/support/unused-counts.ts';
import { NO_LIMITS } from '../accounts/key-limit-store.ts';
import { KEY_LIMITS } from '../accounts/key-limit-tables.ts';
import type { CallOutcome, CallStatus } from '../calls/call-outcome.ts';
import type { AccountState } from '../reservations/account-state.ts';
import { type CallName, callKey, type OpenReservation } from '../reservations/reservation.ts';
import { BALANCES, NOT_LIMITED } from '../reservations/tables.ts';
import { decideEnds, decideUnresolved } from './settle.ts';
import type { SettlementRecord } from './settlement-record.ts';

/**
 * Transcripts of decisions at the ends of calls: one line per batch, with the decision after the arrow. Calls are named by their account
 * and a number: `a1`, `a2` and `b1`. An account has 100 nano-yuan, a plan and a key with limits; `z` does not exist.
 *
 * - `reserve a1:30`, `reserve a1:plan`, `reserve a1:30:key`: the call is admitted.
 * - `claim a1`, `lose a1`: its Idempotency-Key is claimed, and taken by a repeat.
 * - `end a1+20 a2- b1+5?`: concurrent ends; a success and its charge, a failure without a charge. `?`: a response is stored for repeats. On
 *   a plan a success is `a1+`, and uses 5 tokens.
 * - `drop a1`: the record of the call, if it had one, is dropped with its month.
 * - `resolve a1 a2`: their node is dead.
 * - `day 2026-11-21`: it is noon of that day. `before 2026-11-21`: it is the last minute before that day.
 * - `money a`, `plan a`, `key a`: the counts.
 */
function play(transcript: string): void {
  const scene = createScene();
  for (const line of transcript.trim().split('\n')) {
    const [step, expected] = line.split('->').map((part) => part.trim());
    const [command, ...items] = step!.split(' ');
    const decided = scene[command!]!(...items) ?? '';
    assert.equal(decided, expected ?? '', line.trim());
  }
}

const FIRST = periodsOf('2026-11-20');
const dateOf = (beganAtMs: number): string => new Date(beganAtMs + 8 * 3_600_000).toISOString().slice(0, 10);

const nameOf = (call: string): CallName => ({ accountId: call[0]!, callId: call });

function createScene(): Record<string, (...items: string[]) => unknown> {
  const accounts = new Map([accountOf('a'), accountOf('b')].map((account) => [account.accountId, account]));
  const reservations = new Map<string, OpenReservation>();
  const recorded = new Map<string, CallStatus>();
  const claims = new Set<string>();
  const dropped = new Set<string>();
  let periods = periodsOf('2026-11-20');

  function reserve(item: string): void {
    const [call, limit, hasKey] = item.split(':') as [string, string, string?];
    const { money, subscriptions, keys } = accounts.get(call[0]!)!;
    const isOnPlan = limit === 'plan';
    const amountNano = isOnPlan ? null : BigInt(limit);
    money.reservedNano += amountNano ?? 0n;
    const subscription = subscriptions.get('sub')!;
    if (isOnPlan) {
      subscription.slots++;
      subscription.weekCalls++;
      subscription.inFlight++;
      subscription.periodReservedTokens += 7;
    }
    const key = keys.get('key')!;
    if (hasKey) {
      key.calls++;
      key.inFlight++;
      key.reservedNano += amountNano ?? 0n;
    }
    reservations.set(callKey(nameOf(call)), {
      ...nameOf(call),
      keyId: 'key',
      model: 'test',
      nodeId: 'node',
      reservedAtMs: 0,
      facts: '[]',
      ...NOT_LIMITED,
      amountNano,
      ...(isOnPlan ? { subscriptionId: 'sub', weekNo: 0, periodNo: 0, tokens: 7 } : {}),
      ...(hasKey ? { keyAmountNano: amountNano ?? 0n, keyDayNo: key.dayNo } : {}),
      hasSlot: isOnPlan,
    });
  }

  return {
    reserve: (...items) => items.forEach(reserve),
    /** A reservation of a limited key and nothing else. */
    orphan(call: string): void {
      reserve(`${call}:0:key`);
      const key = callKey(nameOf(call));
      reservations.set(key, { ...reservations.get(key)!, amountNano: null });
    },
    claim: (call: string) => void claims.add(callKey(claimOf(call))),
    lose: (call: string) => void claims.delete(callKey(claimOf(call))),
    drop(call: string): void {
      recorded.delete(callKey(nameOf(call)));
      dropped.add(callKey(nameOf(call)));
    },
    before(date: string): void {
      periods = periodsAt(periodsOf(date).dayBeganAtMs - 60_000);
    },
    day(date: string): void {
      periods = periodsOf(date);
    },
    end(...items: string[]): string {
      const records = items.map((item) => recordOf(item, reservations));
      const { verdicts, fresh, freed, charges } = decideEnds(
        records,
        { accounts, reservations, recorded, dropped, claims },
        periods,
      );
      for (const each of freed) reservations.delete(callKey(each));
      for (const { outcome } of fresh) recorded.set(callKey(outcome), outcome.status);
      return [
        verdicts.join(' '),
        `recorded ${fresh.map(({ outcome }) => `${outcome.callId}=${outcome.status}`).join(' ') || 'none'}`,
        `freed ${namesOf(freed)}`,
        ...charges.map(
          ({ accountId, entryNo, callId, chargeNano, balanceAfterNano }) =>
            `${accountId}#${entryNo} ${callId} ${chargeNano} leaves ${balanceAfterNano}`,
        ),
      ].join(' | ');
    },
    resolve(...calls: string[]): string {
      const found = calls.map((call) => callKey(nameOf(call))).filter((key) => reservations.has(key));
      const of = new Map(found.map((key) => [key, reservations.get(key)!]));
      const unresolved = decideUnresolved({ accounts, reservations: of, recorded }, periods);
      for (const { reservation, isRecorded } of unresolved) {
        reservations.delete(callKey(reservation));
        if (isRecorded) recorded.set(callKey(reservation), 'unresolved');
      }
      const onRecord = unresolved.filter(({ isRecorded }) => isRecorded).map(({ reservation }) => reservation);
      return `freed ${namesOf(unresolved.map(({ reservation }) => reservation))} | recorded ${namesOf(onRecord)}`;
    },
    money(id: string): string {
      const { balanceNano, reservedNano, spentNano, dayBeganAtMs, lastEntryNo } = accounts.get(id)!.money;
      return `${balanceNano} reserved ${reservedNano} spent ${spentNano} on ${dateOf(dayBeganAtMs)} entries ${lastEntryNo}`;
    },
    plan(id: string): string {
      const plan = accounts.get(id)!.subscriptions.get('sub')!;
      const { slots, weekCalls, inFlight, periodTokens, periodReservedTokens, deletedSlots } = plan;
      return `slots ${slots} week ${weekCalls} tokens ${periodTokens} reserved ${periodReservedTokens} in flight ${inFlight} deleted ${deletedSlots.join(' ') || 'none'}`;
    },
    key(id: string): string {
      const { spentNano, calls, reservedNano, inFlight, dayBeganAtMs } = accounts.get(id)!.keys.get('key')!;
      return `spent ${spentNano} calls ${calls} on ${dateOf(dayBeganAtMs)} reserved ${reservedNano} in flight ${inFlight}`;
    },
  };
}

function accountOf(accountId: string): AccountState {
  return {
    accountId,
    money: {
      accountId,
      dailyCapNano: null,
      ownDailyCapNano: null,
      priceFactorBasisPoints: 10_000,
      ...unusedCounts(BALANCES),
      balanceNano: 100n,
      dayBeganAtMs: FIRST.dayBeganAtMs,
      lastEntryNo: 1n,
    },
    subscriptions: new Map([['sub', unusedSubscription({ accountId })]]),
    currentSubscriptionId: null,
    activePlan: null,
    rates: new Map(),
    keys: new Map([
      [
        'key',
        {
          accountId,
          keyId: 'key',
          ...NO_LIMITS,
          ...unusedCounts(KEY_LIMITS),
          dayBeganAtMs: FIRST.dayBeganAtMs,
          weekBeganAtMs: FIRST.weekBeganAtMs,
          monthBeganAtMs: FIRST.monthBeganAtMs,
        },
      ],
    ]),
  };
}

const claimOf = (call: string): CallName => ({ accountId: call[0]!, callId: `claim_of_${call}` });

function recordOf(item: string, reservations: ReadonlyMap<string, OpenReservation>): SettlementRecord {
  const [, call, sign, charge, isKept] = /^(\w+)([+-])(\d*)(\??)$/.exec(item)!;
  const reservation = reservations.get(callKey(nameOf(call!)));
  const counts = sign === '+';
  const isOnPlan = reservation !== undefined && reservation.subscriptionId !== null;
  const chargeNano = charge === '' ? null : BigInt(charge!);
  return {
    outcome: {
      ...nameOf(call!),
      status: counts ? 'succeeded' : 'failed',
      chargeNano,
      endedAtMs: 1,
    } as unknown as CallOutcome,
    plan: isOnPlan ? { counts, tokens: counts ? 5 : 0 } : null,
    key: reservation !== undefined && reservation.keyDayNo !== null ? { counts, chargeNano: chargeNano ?? 0n } : null,
    kept: isKept
      ? {
          ...claimOf(call!),
          billedCallId: call!,
          startedAtMs: 0,
          keptForMs: 1,
          head: { status: 200, headers: {}, callHeaders: {} },
          body: null,
        }
      : null,
    rate: null,
    made: null,
  };
}

const namesOf = (calls: readonly CallName[]): string => calls.map(({ callId }) => callId).join(' ') || 'none';

describe('the decision on the end of a call', () => {
  it('frees the reservation and charges the usage', () =>
    play(`
      reserve a1:30
      money a    -> 100 reserved 30 spent 0 on 2026-11-20 entries 1
      end a1+20  -> ended | recorded a1=succeeded | freed a1 | a#2 a1 20 leaves 80
      money a    -> 80 reserved 0 spent 20 on 2026-11-20 entries 2
    `));

  it('may charge more than the reservation and the balance', () =>
    play(`
      reserve a1:30
      end a1+130  -> ended | recorded a1=succeeded | freed a1 | a#2 a1 130 leaves -30
      money a     -> -30 reserved 0 spent 130 on 2026-11-20 entries 2
    `));

  it('creates an entry for a charge of 0, and none without a charge', () =>
    play(`
      reserve a1:30 a2:30
      end a1+0 a2-  -> ended ended | recorded a1=succeeded a2=failed | freed a1 a2 | a#2 a1 0 leaves 100
      money a       -> 100 reserved 0 spent 0 on 2026-11-20 entries 2
    `));

  it('numbers the charges of each account in order of arrival', () =>
    play(`
      reserve a1:1 a2:1 b1:1 a3:1
      end a2+2 b1+5 a1+1 a3- -> ended ended ended ended | recorded a2=succeeded b1=succeeded a1=succeeded a3=failed | freed a2 b1 a1 a3 | a#2 a2 2 leaves 98 | b#2 b1 5 leaves 95 | a#3 a1 1 leaves 97
      reserve a4:1
      end a4+3               -> ended | recorded a4=succeeded | freed a4 | a#4 a4 3 leaves 94
      money b                -> 95 reserved 0 spent 5 on 2026-11-20 entries 2
    `));

  it('is the first one of several in a batch', () =>
    play(`
      reserve a1:30 a2:30
      end a1+20 a1+20 a1-  -> ended ended ended | recorded a1=succeeded | freed a1 | a#2 a1 20 leaves 80
      end a2- a2+20        -> ended ended | recorded a2=failed | freed a2
      money a              -> 80 reserved 0 spent 20 on 2026-11-20 entries 2
    `));

  it('is the first one of several batches', () =>
    play(`
      reserve a1:30 a2:30
      end a1+20 a2-  -> ended ended | recorded a1=succeeded a2=failed | freed a1 a2 | a#2 a1 20 leaves 80
      end a1+20 a2+9 -> ended ended | recorded none | freed none
      end a1-        -> ended | recorded none | freed none
      money a        -> 80 reserved 0 spent 20 on 2026-11-20 entries 2
    `));

  it('is recorded and charged even if the reservation is gone', () =>
    play(`
      end a1+20  -> ended | recorded a1=succeeded | freed none | a#2 a1 20 leaves 80
      money a    -> 80 reserved 0 spent 20 on 2026-11-20 entries 2
    `));

  it('writes nothing if the records of its month were dropped, because it may have ended before', () =>
    play(`
      reserve a1:30 a2:30
      end a1+20  -> ended | recorded a1=succeeded | freed a1 | a#2 a1 20 leaves 80
      drop a1
      end a1+20  -> ended | recorded none | freed none
      money a    -> 80 reserved 30 spent 20 on 2026-11-20 entries 2
    `));

  it('frees a remaining reservation of a recorded call', () =>
    play(`
      end a1+20      -> ended | recorded a1=succeeded | freed none | a#2 a1 20 leaves 80
      reserve a1:30
      end a1+20      -> ended | recorded none | freed a1
      money a        -> 80 reserved 0 spent 20 on 2026-11-20 entries 2
    `));

  it('counts nothing for the key of a recorded call, because no record would account for it', () =>
    play(`
      end a1+20         -> ended | recorded a1=succeeded | freed none | a#2 a1 20 leaves 80
      reserve a1:30:key
      end a1+20         -> ended | recorded none | freed a1
      key a             -> spent 0 calls 0 on 2026-11-20 reserved 0 in flight 0
    `));

  it('of a deleted account writes nothing and is not retried', () =>
    play(`
      end z1+20 a1+5  -> ended ended | recorded a1=succeeded | freed none | a#2 a1 5 leaves 95
    `));

  it('counts as spent on the day of its end, even if the clock goes back by a minute', () =>
    play(`
      reserve a1:30 a2:30 a3:30
      end a1+20       -> ended | recorded a1=succeeded | freed a1 | a#2 a1 20 leaves 80
      day 2026-11-21
      end a2+3        -> ended | recorded a2=succeeded | freed a2 | a#3 a2 3 leaves 77
      money a         -> 77 reserved 30 spent 3 on 2026-11-21 entries 3
      before 2026-11-21
      end a3+4        -> ended | recorded a3=succeeded | freed a3 | a#4 a3 4 leaves 73
      money a         -> 73 reserved 0 spent 7 on 2026-11-21 entries 4
    `));

  it('resets a day that lies further in the future, because the clock was wrong', () =>
    play(`
      reserve a1:30:key a2:30:key
      day 2027-11-20
      end a1+20       -> ended | recorded a1=succeeded | freed a1 | a#2 a1 20 leaves 80
      money a         -> 80 reserved 30 spent 20 on 2027-11-20 entries 2
      day 2026-11-20
      end a2+4        -> ended | recorded a2=succeeded | freed a2 | a#3 a2 4 leaves 76
      money a         -> 76 reserved 0 spent 4 on 2026-11-20 entries 3
      key a           -> spent 4 calls 0 on 2026-11-20 reserved 0 in flight 0
    `));
});

describe('the decision on the end of a call on a plan or with a limited key', () => {
  it('keeps the slot and counts the tokens of a success, and gives everything back for a failure', () =>
    play(`
      reserve a1:plan a2:plan
      plan a       -> slots 2 week 2 tokens 0 reserved 14 in flight 2 deleted none
      end a1+ a2-  -> ended ended | recorded a1=succeeded a2=failed | freed a1 a2
      plan a       -> slots 1 week 1 tokens 5 reserved 0 in flight 0 deleted a2
      end a1+ a2+  -> ended ended | recorded none | freed none
      plan a       -> slots 1 week 1 tokens 5 reserved 0 in flight 0 deleted a2
      money a      -> 100 reserved 0 spent 0 on 2026-11-20 entries 1
    `));

  it('counts the charge of a success for its key, and gives everything back for a failure', () =>
    play(`
      reserve a1:30:key a2:30:key a3:plan:key
      key a               -> spent 0 calls 3 on 2026-11-20 reserved 60 in flight 3
      end a1+20 a2- a3+   -> ended ended ended | recorded a1=succeeded a2=failed a3=succeeded | freed a1 a2 a3 | a#2 a1 20 leaves 80
      key a               -> spent 20 calls 2 on 2026-11-20 reserved 0 in flight 0
      end a1+20 a2+7 a3+  -> ended ended ended | recorded none | freed none
      key a               -> spent 20 calls 2 on 2026-11-20 reserved 0 in flight 0
    `));

  it('counts for its key on the day of its end, and gives no call back to a day on which it did not begin', () =>
    play(`
      reserve a1:30:key a2:30:key
      day 2026-11-21
      end a1+20 a2-  -> ended ended | recorded a1=succeeded a2=failed | freed a1 a2 | a#2 a1 20 leaves 80
      key a          -> spent 20 calls 0 on 2026-11-21 reserved 0 in flight 0
    `));
});

describe('the decision on the end of a call with an Idempotency-Key', () => {
  it('is written if the call still has its claim', () =>
    play(`
      reserve a1:30
      claim a1
      end a1+20? -> ended | recorded a1=succeeded | freed a1 | a#2 a1 20 leaves 80
    `));

  it('is not written if a repeat took the claim; the call may end without a stored response', () =>
    play(`
      reserve a1:30 a2:30
      claim a1
      lose a1
      end a1+20? a2+5 -> claim_lost ended | recorded a2=succeeded | freed a2 | a#2 a2 5 leaves 95
      money a         -> 95 reserved 30 spent 5 on 2026-11-20 entries 2
      end a1-         -> ended | recorded a1=failed | freed a1
      money a         -> 95 reserved 0 spent 5 on 2026-11-20 entries 2
    `));

  it('may be followed in its batch by an end without a stored response', () =>
    play(`
      reserve a1:30
      end a1+20? a1- -> claim_lost ended | recorded a1=failed | freed a1
    `));

  it('counts as written if it arrives again after a repeat took the claim', () =>
    play(`
      reserve a1:30
      claim a1
      end a1+20? -> ended | recorded a1=succeeded | freed a1 | a#2 a1 20 leaves 80
      lose a1
      end a1+20? -> ended | recorded none | freed none
    `));
});

describe('the decision on calls of dead nodes', () => {
  it('frees their reservations, and records them without a charge', () =>
    play(`
      reserve a1:30:key a2:plan
      resolve a1 a2 -> freed a1 a2 | recorded a1 a2
      money a       -> 100 reserved 0 spent 0 on 2026-11-20 entries 1
      plan a        -> slots 0 week 0 tokens 0 reserved 0 in flight 0 deleted a2
      key a         -> spent 0 calls 0 on 2026-11-20 reserved 0 in flight 0
    `));

  it('resolves each call once', () =>
    play(`
      reserve a1:30 b1:30
      resolve a1    -> freed a1 | recorded a1
      resolve a1 b1 -> freed b1 | recorded b1
      resolve a1 b1 -> freed none | recorded none
    `));

  it('ignores calls that have ended', () =>
    play(`
      reserve a1:30
      end a1+20  -> ended | recorded a1=succeeded | freed a1 | a#2 a1 20 leaves 80
      resolve a1 -> freed none | recorded none
    `));

  it('keeps an existing record', () =>
    play(`
      end a1+20     -> ended | recorded a1=succeeded | freed none | a#2 a1 20 leaves 80
      reserve a1:30
      resolve a1    -> freed a1 | recorded none
      money a       -> 80 reserved 0 spent 20 on 2026-11-20 entries 2
    `));

  it('does not record calls that only their key counted, because they were not fully admitted', () =>
    play(`
      orphan a1
      resolve a1 -> freed a1 | recorded none
      key a      -> spent 0 calls 0 on 2026-11-20 reserved 0 in flight 0
    `));

  it('accepts one late end, which is recorded and charged although the reservation is gone', () =>
    play(`
      reserve a1:30 a2:30:key a3:plan
      resolve a1 a2 a3          -> freed a1 a2 a3 | recorded a1 a2 a3
      end a1+20 a1+20 a2- a3+   -> ended ended ended ended | recorded a1=succeeded a2=failed a3=succeeded | freed none | a#2 a1 20 leaves 80
      end a1+20 a2+9            -> ended ended | recorded none | freed none
      money a                   -> 80 reserved 0 spent 20 on 2026-11-20 entries 2
      plan a                    -> slots 0 week 0 tokens 0 reserved 0 in flight 0 deleted a3
      key a                     -> spent 0 calls 0 on 2026-11-20 reserved 0 in flight 0
    `));

  it('accepts late ends in a batch with others, only if a claim still belongs to the call', () =>
    play(`
      reserve a1:5 a2:5 a3:5
      resolve a1 a3                -> freed a1 a3 | recorded a1 a3
      end a1+3 a2- a3+4? a1- a2+3  -> ended ended claim_lost ended ended | recorded a1=succeeded a2=failed | freed a2 | a#2 a1 3 leaves 97
      money a                      -> 97 reserved 0 spent 3 on 2026-11-20 entries 2
    `));
});
