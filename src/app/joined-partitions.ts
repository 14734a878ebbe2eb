import { routedCallerBudgets } from '../accounting/accounts/caller-budget-store.ts';
import { routedLimits } from '../accounting/accounts/key-limit-store.ts';
import { routedKeyUses } from '../accounting/accounts/key-use-store.ts';
import { routedModelBudgets } from '../accounting/accounts/model-budget-store.ts';
import { routedRateLimits } from '../accounting/accounts/rate-limit-store.ts';
import { routedCalls } from '../accounting/calls/routed-calls.ts';
import { routedRefunds } from '../accounting/corrections/refund-store.ts';
import { routedResolutions } from '../accounting/corrections/resolution-store.ts';
import { routedLedger } from '../accounting/ledger/ledger-store.ts';
import { inEachPartition, type Routes } from '../accounting/partitions/routes.ts';
import { routedSubscriptions } from '../accounting/plans/routed-subscriptions.ts';
import { routedKeyBudgets } from '../accounting/reservations/key-budget-store.ts';
import { joinedLatency } from '../accounting/usage/latency-store.ts';
import { routedStatements } from '../accounting/usage/statement-store.ts';
import { type Questions, refusedFor } from '../db/questions/database-questions.ts';
import type { PartitionAccounting, PartitionAdmin } from './partition-accounting.ts';

type CallAccounting = Pick<
  PartitionAccounting,
  | 'limitedKeys'
  | 'continuationKeys'
  | 'storedResponses'
  | 'reservations'
  | 'databaseSettlement'
  | 'resolveDeadCalls'
  | 'callsUnresolved'
> & { readonly questions: Pick<Questions, 'isDown' | 'stop'> };

/** Accounting of all partitions as one, without housekeeping, which runs in each partition separately (`housekeeping.ts`). */
type JoinedAccounting = Omit<PartitionAccounting, 'questions' | 'housekeeping'> & Pick<CallAccounting, 'questions'>;

/** Joins partitions: an operation on an account goes to its partition, an operation on all accounts to every partition. */
export function joinPartitions(routes: Routes<PartitionAccounting>): JoinedAccounting {
  const { all } = routes;
  if (all.length === 1) return all[0]!;

  async function noteUse(accountId: string, keyId: string): Promise<void> {
    const { keyUses } = await routes.of(accountId);
    keyUses.note(accountId, keyId);
  }

  return {
    ...joinCalls(routes),
    admin: joinPartitionAdmins(routes.map(({ admin }) => admin)),
    balances: {
      ledger: routedLedger(routes.map(({ balances }) => balances.ledger)),
      subscriptions: routedSubscriptions(routes.map(({ balances }) => balances.subscriptions)),
      keyBudgets: routedKeyBudgets(routes.map(({ balances }) => balances.keyBudgets)),
    },
    // Recorded in the background, so that a partition that fails or is slow does not delay the others.
    keyUses: {
      // If the partition of the account cannot be found, this use is lost; the next one is recorded again.
      note: (accountId, keyId) => void noteUse(accountId, keyId).catch(() => undefined),
      async stop() {
        await Promise.all(all.map(({ keyUses }) => keyUses.stop()));
      },
    },
    rollups: {
      start() {
        for (const { rollups } of all) rollups.start();
      },
      async round() {
        await inEachPartition(routes, ({ rollups }) => rollups.round());
      },
      async stop() {
        await Promise.all(all.map(({ rollups }) => rollups.stop()));
      },
    },
  };
}

export function joinPartitionAdmins(routes: Routes<PartitionAdmin>): PartitionAdmin {
  if (routes.all.length === 1) return routes.all[0]!;
  return {
    keyLimits: routedLimits(routes.map(({ keyLimits }) => keyLimits)),
    memberLimits: routedLimits(routes.map(({ memberLimits }) => memberLimits)),
    modelBudgets: routedModelBudgets(routes.map(({ modelBudgets }) => modelBudgets)),
    callerBudgets: routedCallerBudgets(routes.map(({ callerBudgets }) => callerBudgets)),
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

function joinCalls(routes: Routes<PartitionAccounting>): CallAccounting {
  const { all } = routes;
  const sum = (count: (partition: PartitionAccounting) => number): number =>
    all.reduce((total, partition) => total + count(partition), 0);
  const each = async (work: (partition: PartitionAccounting) => Promise<unknown>): Promise<void> => {
    await Promise.all(all.map(work));
  };

  /** Returns the partition of an account. @throws GatewayError `databaseDown` if the directory does not respond */
  async function of(accountId: string): Promise<PartitionAccounting> {
    try {
      return await routes.of(accountId);
    } catch (error) {
      throw refusedFor(error);
    }
  }

  return {
    questions: {
      get isDown() {
        return all.some(({ questions }) => questions.isDown);
      },
      stop() {
        for (const { questions } of all) questions.stop();
      },
    },
    limitedKeys: { find: async (key) => (await of(key.accountId)).limitedKeys.find(key) },
    continuationKeys: {
      find: async (accountId, keys) => (await of(accountId)).continuationKeys.find(accountId, keys),
      drain: () => each(({ continuationKeys }) => continuationKeys.drain()),
    },
    storedResponses: {
      claim: async (call, waiter, tenant) => (await of(call.accountId)).storedResponses.claim(call, waiter, tenant),
      isKnown: async (key) => (await of(key.accountId)).storedResponses.isKnown(key),
      keep: async (responded) => (await of(responded.accountId)).storedResponses.keep(responded),
      freeLeftClaims: () => each(({ storedResponses }) => storedResponses.freeLeftClaims()),
      stopWaiting() {
        for (const { storedResponses } of all) storedResponses.stopWaiting();
      },
      drain: () => each(({ storedResponses }) => storedResponses.drain()),
      get size() {
        return sum(({ storedResponses }) => storedResponses.size);
      },
    },
    reservations: {
      admit: async (request) => (await of(request.accountId)).reservations.admit(request),
      look: async (call) => (await of(call.accountId)).reservations.look(call),
      ended(call) {
        for (const { reservations } of all) reservations.ended(call);
      },
      releaseUnknown: () => each(({ reservations }) => reservations.releaseUnknown()),
      drain: () => each(({ reservations }) => reservations.drain()),
      get open() {
        return sum(({ reservations }) => reservations.open);
      },
      get waiting() {
        return sum(({ reservations }) => reservations.waiting);
      },
      get doubtful() {
        return sum(({ reservations }) => reservations.doubtful);
      },
    },
    databaseSettlement: {
      end: async (record) => (await of(record.outcome.accountId)).databaseSettlement.end(record),
      endLate: async (record) => (await of(record.outcome.accountId)).databaseSettlement.endLate(record),
      drain: () => each(({ databaseSettlement }) => databaseSettlement.drain()),
      get waiting() {
        return sum(({ databaseSettlement }) => databaseSettlement.waiting);
      },
    },
    async resolveDeadCalls(deadAfterMs) {
      await inEachPartition(routes, (partition) => partition.resolveDeadCalls(deadAfterMs));
    },
    callsUnresolved: () => sum((partition) => partition.callsUnresolved()),
  };
}
