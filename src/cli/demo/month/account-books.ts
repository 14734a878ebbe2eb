import { displayPrefix, hashApiKey } from '../../../accounting/accounts/key-format.ts';
import type { CallOutcome } from '../../../accounting/calls/call-outcome.ts';
import { placeOf } from '../../../accounting/counts/counted-use.ts';
import type { HistoryRow } from '../../../accounting/history/history-store.ts';
import { monthOf, weekOf } from '../../../accounting/pricing/billing-periods.ts';
import type { LocalTime } from '../../../accounting/pricing/local-time.ts';

export interface MadeAccount {
  readonly id: string;
  readonly name: string;
  readonly email: string | null;
  readonly isVerified: boolean;
  readonly createdAtMs: number;
  readonly suspended?: { readonly atMs: number; readonly reason: string };
  readonly dailyCapNano?: bigint;
  readonly ownDailyCapNano?: bigint;
  readonly lowBalanceNano?: bigint;
  readonly priceFactorBasisPoints?: number;
}

export interface MadeKey {
  readonly id: string;
  readonly name: string;
  /** Stored as its hash. */
  readonly text: string;
  readonly createdAtMs: number;
  readonly expiresAtMs?: number;
  readonly revokedAtMs?: number;
  readonly allowedModels?: readonly string[];
  readonly scopes?: readonly string[];
  readonly userId?: string;
  readonly limits?: {
    readonly dailySpendCapNano?: bigint;
    readonly monthlySpendCapNano?: bigint;
    readonly dailyCalls?: number;
    readonly concurrency?: number;
  };
}

interface OtherEntry {
  readonly kind: 'top_up' | 'adjustment' | 'refund';
  readonly amountNano: bigint;
  readonly atMs: number;
  readonly memo: string | null;
  readonly callId?: string;
  readonly idempotencyKey?: string;
}

export const toInstant = (atMs: number): string => new Date(atMs).toISOString();
const toInstantOrNull = (atMs: number | undefined): string | null => (atMs === undefined ? null : toInstant(atMs));
export const toHex = (bytes: Buffer): string => `\\x${bytes.toString('hex')}`;

/** One account with its keys, its ledger and its counters, which are filled in the order of time. */
export class AccountBooks {
  readonly account: MadeAccount;
  readonly entries: HistoryRow[] = [];
  readonly outcomes: CallOutcome[] = [];
  readonly #keys: MadeKey[] = [];
  readonly #lastUses = new Map<string, number>();
  readonly #localTime: LocalTime;
  readonly #nowMs: number;
  #balanceNano = 0n;

  constructor(account: MadeAccount, localTime: LocalTime, nowMs: number) {
    this.account = account;
    this.#localTime = localTime;
    this.#nowMs = nowMs;
  }

  get balanceNano(): bigint {
    return this.#balanceNano;
  }

  addKey(key: MadeKey): void {
    this.#keys.push(key);
  }

  keyCreatedAtMs(keyId: string): number {
    return this.#keys.find(({ id }) => id === keyId)!.createdAtMs;
  }

  /** A top-up, an adjustment or a refund; returns the number of its entry. */
  post({ kind, amountNano, atMs, memo, callId, idempotencyKey }: OtherEntry): number {
    return this.#append(kind, amountNano, atMs, {
      callId: callId ?? null,
      memo,
      idempotencyKey: idempotencyKey ?? null,
    });
  }

  /** A call that has ended. */
  add(outcome: CallOutcome): void {
    this.outcomes.push(outcome);
    this.#lastUses.set(outcome.keyId, Math.max(this.#lastUses.get(outcome.keyId) ?? 0, outcome.startedAtMs));
    if (outcome.chargeNano === null) return;
    this.#append('charge', -outcome.chargeNano, outcome.endedAtMs, {
      callId: outcome.callId,
      memo: null,
      idempotencyKey: null,
    });
  }

  #append(
    kind: string,
    amountNano: bigint,
    atMs: number,
    said: { readonly callId: string | null; readonly memo: string | null; readonly idempotencyKey: string | null },
  ): number {
    this.#balanceNano += amountNano;
    const entryNo = this.entries.length + 1;
    this.entries.push({
      account_id: this.account.id,
      entry_no: entryNo,
      kind,
      amount_nano: String(amountNano),
      balance_after_nano: String(this.#balanceNano),
      call_id: said.callId,
      memo: said.memo,
      idempotency_key: said.idempotencyKey,
      created_at: toInstant(atMs),
    });
    return entryNo;
  }

  get accountRow(): HistoryRow {
    const { id, name, email, isVerified, createdAtMs, suspended, lowBalanceNano } = this.account;
    return {
      id,
      name,
      email,
      verified: isVerified,
      status: suspended === undefined ? 'active' : 'suspended',
      status_reason: suspended?.reason ?? null,
      status_changed_at: toInstantOrNull(suspended?.atMs),
      low_balance_nano: lowBalanceNano === undefined ? null : String(lowBalanceNano),
      created_at: toInstant(createdAtMs),
      updated_at: toInstant(suspended?.atMs ?? createdAtMs),
    };
  }

  get balanceRow(): HistoryRow {
    const { id, dailyCapNano, ownDailyCapNano, priceFactorBasisPoints } = this.account;
    const spentNano = String(this.#spentNano(this.outcomes, (day) => day === this.#today));
    const dayBeganAtMs = this.#localTime.dayStartMs(this.#today);
    return {
      account_id: id,
      balance_nano: String(this.#balanceNano),
      daily_cap_nano: dailyCapNano === undefined ? null : String(dailyCapNano),
      own_daily_cap_nano: ownDailyCapNano === undefined ? null : String(ownDailyCapNano),
      day_began_at: toInstant(dayBeganAtMs),
      spent_nano: spentNano,
      // Records of a history do not say what they count for, here and below.
      counted_before: { day: placeOf(0, dayBeganAtMs), spent: spentNano },
      last_entry_no: this.entries.length,
      price_factor_basis_points: priceFactorBasisPoints ?? 10_000,
    };
  }

  get keyRows(): HistoryRow[] {
    return this.#keys.map((key) => ({
      account_id: this.account.id,
      id: key.id,
      name: key.name,
      key_hash: toHex(hashApiKey(key.text)),
      prefix: displayPrefix(key.text),
      created_at: toInstant(key.createdAtMs),
      expires_at: toInstantOrNull(key.expiresAtMs),
      revoked_at: toInstantOrNull(key.revokedAtMs),
      allowed_models: key.allowedModels ?? null,
      scopes: key.scopes ?? ['calls'],
      user_id: key.userId ?? null,
    }));
  }

  get keyUseRows(): HistoryRow[] {
    return [...this.#lastUses].map(([keyId, atMs]) => ({
      account_id: this.account.id,
      key_id: keyId,
      last_used_at: toInstant(atMs),
    }));
  }

  get keyLimitRows(): HistoryRow[] {
    return this.#keys.flatMap(({ id, limits }) => {
      if (limits === undefined) return [];
      const own = this.outcomes.filter(({ keyId }) => keyId === id);
      const today = this.#today;
      const [dayBeganAtMs, weekBeganAtMs, monthBeganAtMs] = [today, weekOf(today), monthOf(today)].map((day) =>
        this.#localTime.dayStartMs(day),
      ) as [number, number, number];
      const spentNano = String(this.#spentNano(own, (day) => day === today));
      const weekNano = String(this.#spentNano(own, (day) => weekOf(day) === weekOf(today)));
      const monthNano = String(this.#spentNano(own, (day) => monthOf(day) === monthOf(today)));
      const totalNano = String(this.#spentNano(own, () => true));
      const calls = own.filter(
        ({ status, endedAtMs }) => status !== 'failed' && this.#localTime.day(endedAtMs) === today,
      ).length;
      const capText = (capNano: bigint | undefined): string | null => (capNano === undefined ? null : String(capNano));
      return {
        account_id: this.account.id,
        key_id: id,
        daily_spend_cap_nano: capText(limits.dailySpendCapNano),
        monthly_spend_cap_nano: capText(limits.monthlySpendCapNano),
        daily_calls_max: limits.dailyCalls ?? null,
        concurrency_max: limits.concurrency ?? null,
        day_began_at: toInstant(dayBeganAtMs),
        week_began_at: toInstant(weekBeganAtMs),
        month_began_at: toInstant(monthBeganAtMs),
        spent_nano: spentNano,
        calls,
        week_spent_nano: weekNano,
        month_spent_nano: monthNano,
        total_spent_nano: totalNano,
        counted_before: {
          day: placeOf(0, dayBeganAtMs),
          spent: spentNano,
          calls,
          week: placeOf(0, weekBeganAtMs),
          weekSpent: weekNano,
          month: placeOf(0, monthBeganAtMs),
          monthSpent: monthNano,
          allSpent: totalNano,
        },
      };
    });
  }

  get #today(): string {
    return this.#localTime.day(this.#nowMs);
  }

  #spentNano(outcomes: readonly CallOutcome[], isCounted: (day: string) => boolean): bigint {
    return outcomes
      .filter(({ chargeNano, endedAtMs }) => chargeNano !== null && isCounted(this.#localTime.day(endedAtMs)))
      .reduce((sum, { chargeNano }) => sum + chargeNano!, 0n);
  }
}
