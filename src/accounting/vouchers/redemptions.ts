import type { Unfinished } from '../../lib/unfinished.ts';
import { type PlanTerms, periodMsOf } from '../plans/plan.ts';
import type { GiftStore, OfferedPeriod } from './gift-store.ts';
import type { RedemptionStore, StoredRedemption } from './redemption-store.ts';
import type { OpenRedemption, RedeemRefusal, RedemptionRequest, VoucherGift } from './voucher.ts';

export interface Redemption extends StoredRedemption {
  /** When the plan ends now. */
  readonly subscriptionEndsAt: Date | null;
}

export type RedeemResult =
  | { readonly outcome: 'redeemed' | 'repeated'; readonly redemption: Redemption }
  /** Nothing has changed. */
  | { readonly outcome: RedeemRefusal };

/** What a redemption needs of a plan. */
export type OfferedPlan = Pick<PlanTerms, 'id' | 'periodDays' | 'sale'>;

interface RedemptionsParts {
  readonly directory: RedemptionStore;
  readonly partition: GiftStore;
  /** The plans in force. */
  readonly plans: () => readonly OfferedPlan[];
}

export type Redemptions = ReturnType<typeof createRedemptions>;

/**
 * Redeems codes, in three steps (docs/decisions/0061-accounts-and-redemptions-in-steps.md): the code is the account's in the directory, where
 * nobody sees it yet; the partition gives, or refuses; the redemption says what was given, or is taken back. Each step may run again.
 */
export function createRedemptions({ directory, partition, plans }: RedemptionsParts) {
  /** How long a plan lasts, and its price; `null` if it is not offered any more, or the gift is none. */
  function periodOf(gift: VoucherGift): OfferedPeriod | null {
    const plan = gift.kind === 'plan' ? plans().find(({ id }) => id === gift.planId) : undefined;
    return plan === undefined ? null : { periodMs: periodMsOf(plan), sale: plan.sale };
  }

  async function withEnds(redemptions: readonly StoredRedemption[]): Promise<Redemption[]> {
    const ends = await partition.findEnds(redemptions);
    return redemptions.map((each) => ({
      ...each,
      subscriptionEndsAt: each.subscriptionId === null ? null : (ends.get(each.subscriptionId) ?? null),
    }));
  }

  async function finish(open: OpenRedemption): Promise<RedeemResult> {
    const given = await partition.give(open, periodOf(open.gift));
    if (typeof given === 'string') {
      await directory.undo(open);
      return { outcome: given };
    }
    const [redemption] = await withEnds([await directory.complete(open, given)]);
    return { outcome: 'redeemed', redemption: redemption! };
  }

  /** What a partition refuses is told before the code is taken: then another account is refused it only if this one gets it. */
  async function begin(request: RedemptionRequest): ReturnType<RedemptionStore['begin']> {
    const standing = await directory.look(request);
    if (standing.outcome !== 'free') return standing;
    const refusal = await partition.foresee(standing.open, periodOf(standing.open.gift));
    return refusal === null ? directory.begin(request) : { outcome: refusal };
  }

  async function finishEach(list: (behindId: string) => Promise<readonly OpenRedemption[]>): Promise<void> {
    for (let open = await list(''); open.length > 0; open = await list(open.at(-1)!.id)) {
      for (const each of open) await finish(each);
    }
  }

  return {
    /** Whole ones, newest first. */
    list: async (batchId: string, beforeId: string | null, limit: number): Promise<Redemption[]> =>
      withEnds(await directory.list(batchId, beforeId, limit)),
    /** Of a code; `null` if it is not redeemed, or not wholly yet. */
    async find(codeHash: Buffer): Promise<Redemption | null> {
      const found = await directory.find(codeHash);
      return found === null ? null : (await withEnds([found]))[0]!;
    },
    /** A repeat by the same account changes nothing, or finishes what is under way. */
    async redeem(request: RedemptionRequest): Promise<RedeemResult> {
      const begun = await begin(request);
      if ('open' in begun) return finish(begun.open);
      if (!('redemption' in begun)) return begun;
      const [redemption] = await withEnds([begun.redemption]);
      return { outcome: 'repeated', redemption: redemption! };
    },
    /** Finishes those of a batch that are under way. */
    finishBatch: (batchId: string): Promise<void> =>
      finishEach((behindId) => directory.listUnderWay(behindId, { olderThanMs: 0, batchId })),
    /** Those that are under way for so long. */
    unfinished: (olderThanMs: number): Unfinished => ({
      async list(behindId) {
        const found = await directory.listUnderWay(behindId, { olderThanMs });
        return found.map((open) => ({ id: open.id, accountId: open.accountId, finish: () => finish(open) }));
      },
    }),
  };
}
