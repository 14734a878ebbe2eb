import { inEachPartition, type Routes } from '../accounting/partitions/routes.ts';
import { type Questions, refusedFor } from '../db/questions/database-questions.ts';
import type { PartitionAccounting } from './partition-accounting.ts';

type JoinedCalls = Pick<
  PartitionAccounting,
  | 'limitedKeys'
  | 'continuationKeys'
  | 'storedResponses'
  | 'reservations'
  | 'databaseSettlement'
  | 'resolveDeadCalls'
  | 'callsUnresolved'
> & { readonly questions: Pick<Questions, 'isDown' | 'stop'> };

/** What calls need of all partitions: it is asked of that of their account. */
export function joinCalls(routes: Routes<PartitionAccounting>): JoinedCalls {
  const { all } = routes;
  const sum = (count: (part: PartitionAccounting) => number): number => all.reduce((all, part) => all + count(part), 0);
  const each = async (work: (part: PartitionAccounting) => Promise<unknown>): Promise<void> => {
    await Promise.all(all.map(work));
  };

  /** @throws GatewayError `databaseDown` if the directory does not say where the account is. */
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
      claim: async (call, waiter, holder) => (await of(call.accountId)).storedResponses.claim(call, waiter, holder),
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
      await inEachPartition(routes, (part) => part.resolveDeadCalls(deadAfterMs));
    },
    callsUnresolved: () => sum((part) => part.callsUnresolved()),
  };
}
