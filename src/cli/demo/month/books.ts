import { createApiKey, displayPrefix, hashApiKey } from '../../../accounting/accounts/key-format.ts';
import type { CallOutcome } from '../../../accounting/calls/call-outcome.ts';
import { placeOf } from '../../../accounting/counts/counted-use.ts';
import type { HistoryRow } from '../../../accounting/history/history-store.ts';
import { monthOf, weekOf } from '../../../accounting/pricing/billing-periods.ts';
import type { LocalTime } from '../../../accounting/pricing/local-time.ts';
import { LIST_PRICE_BASIS_POINTS } from '../../../accounting/pricing/price-factor.ts';
import type { FillRandom } from '../../../lib/ids.ts';
import { NANO_PER_YUAN } from '../../../lib/yuan.ts';
import { type CallKind, type CallMaking, makeCall } from './made-call.ts';
import { callTimes, type Rhythm } from './rhythm.ts';

/** What all accounts of the month share. */
export interface MonthScene extends CallMaking {
  readonly nowMs: number;
  readonly startMs: number;
  readonly localTime: LocalTime;
  /** Of the system: keys that nobody knows must not follow from a seed. */
  readonly fillRandom: FillRandom;
}

/** The calls that a key makes, by default from when it was made until now. */
interface KeyUse {
  readonly count: number;
  readonly rhythm: Rhythm;
  readonly kinds: readonly CallKind[];
  readonly fromMs?: number;
  readonly toMs?: number;
  readonly context?: 'balance' | 'coding';
}

/** No call ends later: the last ones are over when the month is made. */
export const SETTLED_MS = 10 * 60_000;

export const yuan = (amount: number): bigint => BigInt(Math.round(amount * 1_000)) * (NANO_PER_YUAN / 1_000n);
export const instant = (atMs: number): string => new Date(atMs).toISOString();
export const hex = (bytes: Buffer): string => `\\x${bytes.toString('hex')}`;

/** One account with its keys, its ledger and its counters. Columns that are given stand in place of the usual ones. */
export class Books {
  readonly id: string;
  readonly account: HistoryRow;
  readonly outcomes: CallOutcome[] = [];
  readonly entries: HistoryRow[] = [];
  balanceNano = 0n;
  /** Whether a call is admitted; one that is not is no call. */
  admits: (call: { readonly keyId: string; readonly kind: CallKind; readonly atMs: number }) => boolean = () => true;
  readonly #scene: MonthScene;
  readonly #terms: HistoryRow;
  readonly #keys: HistoryRow[] = [];
  readonly #limits: HistoryRow[] = [];
  readonly #events: { readonly atMs: number; readonly happen: () => void }[] = [];

  constructor(scene: MonthScene, atMs: number, account: HistoryRow, terms: HistoryRow = {}) {
    this.#scene = scene;
    this.id = String(account.id ?? scene.idsAt(atMs).next('acct'));
    const usual = { email: null, verified: true, status: 'active', status_reason: null, status_changed_at: null };
    const times = { created_at: instant(atMs), updated_at: instant(atMs) };
    this.account = { id: this.id, low_balance_nano: null, ...usual, ...times, ...account };
    this.#terms = { own_daily_cap_nano: null, price_factor_basis_points: LIST_PRICE_BASIS_POINTS, ...terms };
  }

  /** Adds a key and its calls. Nobody has its text, but if one is given. Returns its id. */
  addKey(
    atMs: number,
    key: HistoryRow,
    uses: readonly KeyUse[],
    { text, limits }: { text?: string; limits?: HistoryRow } = {},
  ): string {
    const { idsAt, fillRandom, localTime, randomSource, nowMs } = this.#scene;
    const keyId = String(key.id ?? idsAt(atMs).next('key'));
    const shown = text ?? createApiKey(fillRandom);
    this.#keys.push({
      account_id: this.id,
      id: keyId,
      key_hash: hex(hashApiKey(shown)),
      prefix: displayPrefix(shown),
      created_at: instant(atMs),
      expires_at: null,
      revoked_at: null,
      allowed_models: null,
      scopes: ['calls'],
      user_id: null,
      ...key,
    });
    if (limits !== undefined) this.#limits.push({ account_id: this.id, key_id: keyId, ...limits });
    for (const { count, rhythm, kinds, fromMs = atMs, toMs = nowMs - SETTLED_MS, context = 'balance' } of uses) {
      for (const startedAtMs of callTimes(count, rhythm, { fromMs, toMs }, localTime, randomSource)) {
        this.#call(keyId, context, randomSource.choose(kinds), startedAtMs);
      }
    }
    return keyId;
  }

  #call(keyId: string, context: 'balance' | 'coding', kind: CallKind, atMs: number): void {
    const priceFactorBasisPoints = Number(this.#terms.price_factor_basis_points);
    const wanted = { accountId: this.id, keyId, context, kind, startedAtMs: atMs, priceFactorBasisPoints };
    const outcome = makeCall(wanted, this.#scene);
    this.at(outcome.endedAtMs, () => {
      if (!this.admits({ keyId, kind, atMs })) return;
      this.outcomes.push(outcome);
      const { chargeNano, callId, endedAtMs } = outcome;
      if (chargeNano !== null) this.post('charge', -chargeNano, endedAtMs, { call_id: callId });
    });
  }

  /** Something happens at an instant. */
  at(atMs: number, happen: () => void): void {
    this.#events.push({ atMs, happen });
  }

  /** Everything happens, in the order of time. */
  play(): this {
    for (const { happen } of this.#events.toSorted((left, right) => left.atMs - right.atMs)) happen();
    return this;
  }

  /** Adds an entry to the ledger; returns its number. */
  post(kind: string, amountNano: bigint, atMs: number, columns: HistoryRow = {}): number {
    this.balanceNano += amountNano;
    return this.entries.push({
      account_id: this.id,
      entry_no: this.entries.length + 1,
      kind,
      amount_nano: String(amountNano),
      balance_after_nano: String(this.balanceNano),
      created_at: instant(atMs),
      call_id: null,
      memo: null,
      idempotency_key: null,
      ...columns,
    });
  }

  get rows(): Record<
    'accounts' | 'balances' | 'api_keys' | 'key_limits' | 'key_uses' | 'ledger_entries',
    HistoryRow[]
  > {
    const { localTime, nowMs } = this.#scene;
    const [today, week, month] = [(day: string) => day, weekOf, monthOf].map((period) => {
      const name = period(localTime.day(nowMs));
      const beganAtMs = localTime.dayStartMs(name);
      const isIn = ({ endedAtMs }: CallOutcome): boolean => period(localTime.day(endedAtMs)) === name;
      return { beganAt: instant(beganAtMs), place: placeOf(0, beganAtMs), isIn };
    }) as [Period, Period, Period];
    const day = { day_began_at: today.beganAt, spent_nano: spentNano(this.outcomes.filter(today.isIn)) };
    const lastUses = new Map(this.outcomes.map(({ keyId, startedAtMs }) => [keyId, startedAtMs]));
    return {
      accounts: [this.account],
      balances: [
        {
          account_id: this.id,
          balance_nano: String(this.balanceNano),
          last_entry_no: this.entries.length,
          ...this.#terms,
          ...day,
          // Records of a history do not say what they count for, here and below.
          counted_before: { day: today.place, spent: day.spent_nano },
        },
      ],
      api_keys: this.#keys,
      key_limits: this.#limits.map((limits) => {
        const own = this.outcomes.filter(({ keyId }) => keyId === limits.key_id);
        const [spent, weekSpent, monthSpent] = [today, week, month].map(({ isIn }) => spentNano(own.filter(isIn)));
        const calls = own.filter((call) => today.isIn(call) && call.status !== 'failed').length;
        const allSpent = spentNano(own);
        return {
          ...limits,
          day_began_at: today.beganAt,
          week_began_at: week.beganAt,
          month_began_at: month.beganAt,
          calls,
          spent_nano: spent!,
          week_spent_nano: weekSpent!,
          month_spent_nano: monthSpent!,
          total_spent_nano: allSpent,
          counted_before: {
            day: today.place,
            week: week.place,
            month: month.place,
            calls,
            spent,
            weekSpent,
            monthSpent,
            allSpent,
          },
        };
      }),
      key_uses: [...lastUses].map(([keyId, atMs]) => ({
        account_id: this.id,
        key_id: keyId,
        last_used_at: instant(atMs),
      })),
      ledger_entries: this.entries,
    };
  }
}

interface Period {
  readonly beganAt: string;
  readonly place: string;
  readonly isIn: (call: CallOutcome) => boolean;
}

const spentNano = (calls: readonly CallOutcome[]): string =>
  String(calls.reduce((sum, { chargeNano }) => sum + (chargeNano ?? 0n), 0n));
