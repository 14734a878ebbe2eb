import { createAccountCreations } from '../accounting/accounts/account-creation-store.ts';
import type { PlacedLanes } from '../accounting/partitions/placed-lanes.ts';
import type { Place } from '../accounting/partitions/placement.ts';
import type { Routes } from '../accounting/partitions/routes.ts';
import { createGiftStore, routedGifts } from '../accounting/vouchers/gift-store.ts';
import { createRedemptionStore } from '../accounting/vouchers/redemption-store.ts';
import { createRedemptions, type OfferedPlan } from '../accounting/vouchers/redemptions.ts';
import { type BackgroundJob, createBackgroundJob } from '../lib/background-job.ts';
import type { Logger } from '../lib/logger.ts';
import { finishAll } from '../lib/unfinished.ts';

/**
 * Wires what is made in steps, each a transaction of one home.
 *
 * @param plans those in force.
 * @param place of new accounts.
 */
export function createInSteps(
  { directory, partitions }: PlacedLanes,
  plans: () => readonly OfferedPlan[],
  place: Place = async () => 0,
) {
  return {
    accountCreations: createAccountCreations(partitions, place),
    redemptions: createRedemptions({
      directory: createRedemptionStore(directory),
      partition: routedGifts(partitions.map(createGiftStore)),
      plans,
    }),
  };
}

/** A request that is not over then has failed, or waits for a database that does not respond. */
const LEFT_AFTER_MS = 15_000;
const ROUND_MS = 30_000;

/**
 * Finishes what requests have left between two steps, on any node. A partition that does not respond keeps none of the others' from it.
 */
export function createFinishing(
  { redemptions }: ReturnType<typeof createInSteps>,
  partitions: Routes<unknown>,
  logger: Logger,
): BackgroundJob {
  const placeOf = (accountId: string): unknown => (partitions.all.length === 1 ? null : partitions.of(accountId));
  const kinds = [redemptions.unfinished(LEFT_AFTER_MS)];
  return createBackgroundJob({
    intervalMs: ROUND_MS,
    run: (isStopping) => finishAll(kinds, isStopping, placeOf),
    logger,
    failing:
      'a redeemed voucher is under way and could not be finished; it is tried again. If that goes on, "faregate audit" ' +
      'says which it is, and the error here says what the database refuses',
    recovered: 'redeemed vouchers that were under way are finished',
  });
}
