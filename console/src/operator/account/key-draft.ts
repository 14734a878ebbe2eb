import type { BodyOf } from '../../api/client.ts';
import type { Key } from '../../api/types.ts';
import { amountOrNull, countOrNull } from '../../parts/form-fields.tsx';
import { type RateLimitDraft, rateLimitDraftOf, rateLimitsOf } from '../../parts/rate-limit-fields.tsx';

/** The limits of a key as they are entered. */
export interface KeyLimitDraft {
  readonly dailyCap: string;
  readonly weeklyCap: string;
  readonly monthlyCap: string;
  readonly totalCap: string;
  readonly dailyCalls: string;
  readonly concurrency: string;
  readonly rates: RateLimitDraft;
  readonly allowedModels: readonly string[];
  readonly allowedNetworks: readonly string[];
}

/** `null`: of a new key. */
export function keyLimitDraftOf(key: Key | null): KeyLimitDraft {
  return {
    dailyCap: key?.dailySpendCapYuan ?? '',
    weeklyCap: key?.weeklySpendCapYuan ?? '',
    monthlyCap: key?.monthlySpendCapYuan ?? '',
    totalCap: key?.totalSpendCapYuan ?? '',
    dailyCalls: String(key?.dailyCalls ?? ''),
    concurrency: String(key?.concurrency ?? ''),
    rates: rateLimitDraftOf(key),
    allowedModels: key?.allowedModels ?? [],
    allowedNetworks: key?.allowedNetworks ?? [],
  };
}

/** The members of a request that sets these limits. */
export function keyLimitsOf(draft: KeyLimitDraft, before: Key | null): BodyOf<'PATCH /admin/v1/keys/{id}'> {
  return {
    dailySpendCapYuan: amountOrNull(draft.dailyCap),
    weeklySpendCapYuan: amountOrNull(draft.weeklyCap),
    monthlySpendCapYuan: amountOrNull(draft.monthlyCap),
    totalSpendCapYuan: amountOrNull(draft.totalCap),
    dailyCalls: countOrNull(draft.dailyCalls),
    concurrency: countOrNull(draft.concurrency),
    ...rateLimitsOf(draft.rates, before),
    allowedModels: draft.allowedModels.length === 0 ? null : draft.allowedModels,
    allowedNetworks: draft.allowedNetworks.length === 0 ? null : draft.allowedNetworks,
  };
}

export type KeyStatus = 'active' | 'revoked' | 'expired';

export function keyStatusOf(key: Pick<Key, 'revokedAt' | 'expiresAt'>, nowMs: number): KeyStatus {
  if (key.revokedAt !== null) return 'revoked';
  return key.expiresAt !== null && Date.parse(key.expiresAt) <= nowMs ? 'expired' : 'active';
}
