import { findCurrentPlan } from '../accounting/plans/snapshot.ts';
import type { QuerySources } from '../api/queries/query.ts';
import { shareReads } from '../lib/shared-reads.ts';
import type { Accounting } from './accounting.ts';
import type { SettingsInForce } from './settings-in-force.ts';

interface QueryParts {
  readonly accounting: Pick<Accounting, 'balances' | 'periods'>;
  readonly settings: SettingsInForce;
  readonly publicCatalog: QuerySources['publicCatalog'];
  readonly databaseNowMs: (stores: Accounting['balances']) => Promise<number>;
}

/** Wires what the free queries read. Of an account one read runs and one waits, however often its keys ask. */
export function createQuerySources({ accounting, settings, publicCatalog, databaseNowMs }: QueryParts): QuerySources {
  const { balances, periods } = accounting;
  return {
    balanceNano: shareReads(async (accountId) => {
      const found = await balances.ledger.findBalances([accountId], periods());
      return found.get(accountId)?.balanceNano ?? 0n;
    }),
    budgetLeftNano: async ({ accountId, keyId, isKeyLimited, memberId }) => {
      const owners = [...(isKeyLimited ? [keyId] : []), ...(memberId === null ? [] : [memberId])];
      return owners.length === 0 ? null : balances.keyBudgets.smallestLeftNano(accountId, owners, periods());
    },
    config: () => settings.current.config,
    publicCatalog,
    subscription: shareReads(async (accountId) => {
      const nowMs = await databaseNowMs(balances);
      const { plans } = settings.current;
      const state = await balances.subscriptions.findState(accountId, new Date(nowMs), plans);
      return { ...findCurrentPlan(state, plans, nowMs), nowMs };
    }),
  };
}
