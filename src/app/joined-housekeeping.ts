import { inEachPartition, type Routes } from '../accounting/partitions/routes.ts';
import type { PartitionAccounting } from './partition-accounting.ts';

/** What runs in the background of each partition by itself: one that fails, or says nothing, keeps no other from its turn. */
export function joinHousekeeping(
  routes: Routes<PartitionAccounting>,
): Pick<PartitionAccounting, 'keyUses' | 'rollups'> {
  const { all } = routes;

  async function note(accountId: string, keyId: string): Promise<void> {
    const { keyUses } = await routes.of(accountId);
    keyUses.note(accountId, keyId);
  }

  return {
    keyUses: {
      // What is not known now is noted at the next use.
      note: (accountId, keyId) => void note(accountId, keyId).catch(() => undefined),
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
