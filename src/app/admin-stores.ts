import { createAccountCreations } from '../accounting/accounts/account-creation-store.ts';
import { createKeyLimitStore, createMemberLimitStore, routedLimits } from '../accounting/accounts/key-limit-store.ts';
import { createKeyReplacementStore } from '../accounting/accounts/key-replacement-store.ts';
import { createKeySearchStore } from '../accounting/accounts/key-search-store.ts';
import { createKeyUseStore, routedKeyUses } from '../accounting/accounts/key-use-store.ts';
import { createKeyWithLimitsStore } from '../accounting/accounts/key-with-limits-store.ts';
import { createRateLimitStore, routedRateLimits } from '../accounting/accounts/rate-limit-store.ts';
import { createKeyStatusStore } from '../accounting/accounts/status-store.ts';
import { createAccountStore } from '../accounting/accounts/store.ts';
import { createCallsStore } from '../accounting/calls/calls-store.ts';
import { routedCalls } from '../accounting/calls/routed-calls.ts';
import { createRefundStore, routedRefunds } from '../accounting/corrections/refund-store.ts';
import { createResolutionStore, routedResolutions } from '../accounting/corrections/resolution-store.ts';
import { createLedgerStore, routedLedger } from '../accounting/ledger/ledger-store.ts';
import type { PlacedLanes } from '../accounting/partitions/placed-lanes.ts';
import type { Place } from '../accounting/partitions/placement.ts';
import type { Routes } from '../accounting/partitions/routes.ts';
import { routedSubscriptions } from '../accounting/plans/routed-subscriptions.ts';
import { createSubscriptionStore } from '../accounting/plans/subscriptions-store.ts';
import { createInFlightStore } from '../accounting/reservations/in-flight-store.ts';
import { createKeyBudgetStore, routedKeyBudgets } from '../accounting/reservations/key-budget-store.ts';
import { createLatencyStore, joinedLatency } from '../accounting/usage/latency-store.ts';
import { createStatementStore, routedStatements } from '../accounting/usage/statement-store.ts';
import { createUsageStore } from '../accounting/usage/usage-store.ts';
import { createRedemptionStore, type OfferedPlan } from '../accounting/vouchers/redemption-store.ts';
import { createVoucherStore } from '../accounting/vouchers/vouchers-store.ts';
import type { PartitionLane } from '../db/home-lanes.ts';
import { createRefusalsStore } from '../requests/refusals-store.ts';

/** What both management APIs read and change, by a gateway or by a command that opens the databases itself. */

/** The stores of one partition. */
export const createPartitionAdmin = (partition: PartitionLane) => ({
  keyLimits: createKeyLimitStore(partition),
  memberLimits: createMemberLimitStore(partition),
  keyBudgets: createKeyBudgetStore(partition),
  keyUses: createKeyUseStore(partition),
  rateLimits: createRateLimitStore(partition),
  ledger: createLedgerStore(partition),
  calls: createCallsStore(partition),
  refunds: createRefundStore(partition),
  resolutions: createResolutionStore(partition),
  subscriptions: createSubscriptionStore(partition),
  statements: createStatementStore(partition),
  latency: createLatencyStore(partition),
});

export type PartitionAdmin = ReturnType<typeof createPartitionAdmin>;

/** The stores of all partitions as one. */
export function joinPartitionAdmins(routes: Routes<PartitionAdmin>): PartitionAdmin {
  if (routes.all.length === 1) return routes.all[0]!;
  return {
    keyLimits: routedLimits(routes.map(({ keyLimits }) => keyLimits)),
    memberLimits: routedLimits(routes.map(({ memberLimits }) => memberLimits)),
    keyBudgets: routedKeyBudgets(routes.map(({ keyBudgets }) => keyBudgets)),
    keyUses: routedKeyUses(routes.map(({ keyUses }) => keyUses)),
    rateLimits: routedRateLimits(routes.map(({ rateLimits }) => rateLimits)),
    ledger: routedLedger(routes.map(({ ledger }) => ledger)),
    calls: routedCalls(routes.map(({ calls }) => calls)),
    refunds: routedRefunds(routes.map(({ refunds }) => refunds)),
    resolutions: routedResolutions(routes.map(({ resolutions }) => resolutions)),
    subscriptions: routedSubscriptions(routes.map(({ subscriptions }) => subscriptions)),
    statements: routedStatements(routes.map(({ statements }) => statements)),
    latency: joinedLatency(routes.map(({ latency }) => latency)),
  };
}

/**
 * The stores of the directory, and of both homes.
 *
 * @param plans those in force.
 * @param place of new accounts.
 */
export function createPlacedAdmin(lanes: PlacedLanes, plans: () => readonly OfferedPlan[], place: Place) {
  const { directory } = lanes;
  return {
    accounts: createAccountStore(directory),
    refusals: createRefusalsStore(directory),
    keysWithLimits: createKeyWithLimitsStore(lanes),
    keyReplacements: createKeyReplacementStore(lanes),
    keyStatuses: createKeyStatusStore(directory),
    vouchers: createVoucherStore(directory),
    keySearch: createKeySearchStore(lanes),
    inFlight: createInFlightStore(lanes),
    usage: createUsageStore(lanes),
    accountCreations: createAccountCreations(lanes.partitions, place),
    redemptions: createRedemptionStore(lanes, plans),
  };
}
