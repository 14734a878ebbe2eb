import { isLockTimeout } from '../../db/errors.ts';
import { GatewayError } from '../../errors/gateway-error.ts';
import { PartitionWalk } from '../partitions/partition-walk.ts';
import type { Routes } from '../partitions/routes.ts';
import { type BegunKey, type LooseKeyStore, OverdueKeyError } from './loose-key-store.ts';
import type { LooseLimitStore } from './loose-limit-store.ts';

/**
 * Makes a key with limits, in three steps of one home each: it is loose, its limits are set in the partition, and it is there. Nobody has
 * a key without its limits, because the last step is what makes it one. Whatever ends before that leaves limits that no call has;
 * `removeLooseLimits` finds them.
 *
 * @param setLimits sets what limits it.
 * @param insert inserts the key, and takes it from the loose ones in the same transaction; `null` if the key that it replaces has ended.
 * @returns `null` if the key that it replaces has ended.
 * @throws TooManyKeysError; GatewayError `overloaded` if it took too long, or limits that it takes over have changed meanwhile; and what the steps throw.
 */
export async function makeLimited<Limits, Made>(
  looseKeys: Pick<LooseKeyStore, 'begin' | 'giveUp'>,
  key: BegunKey,
  setLimits: () => Promise<Limits>,
  insert: () => Promise<Made | null>,
): Promise<{ readonly limits: Limits; readonly made: Made } | null> {
  if (!(await looseKeys.begin(key))) return null;
  // If this fails too, it is given up later. If the insertion has succeeded and only its reply was lost, nothing changes.
  const giveUp = (): Promise<void> => looseKeys.giveUp(key).catch(() => undefined);
  try {
    const limits = await setLimits();
    const made = await insert();
    if (made === null) await giveUp();
    return made && { limits, made };
  } catch (error) {
    await giveUp();
    if (!(error instanceof OverdueKeyError)) throw error;
    throw new GatewayError('overloaded', { headers: { 'retry-after': '2' }, cause: error });
  }
}

interface LooseKeysParts {
  readonly looseKeys: Pick<LooseKeyStore, 'giveUpOld' | 'list' | 'delete'>;
  readonly looseLimits: Routes<Pick<LooseLimitStore, 'remove'>>;
}

/**
 * Removes what is left of loose keys, those that are loose for longest first. Nodes may do so at the same time. Returns false where
 * others have locked accounts that it needs: these keys come again, and so do those of a partition that fails.
 *
 * @throws PartitionError of the first partition that has failed, at the end.
 */
export async function removeLooseLimits(
  { looseKeys, looseLimits }: LooseKeysParts,
  signal: AbortSignal,
): Promise<boolean> {
  await looseKeys.giveUpOld();
  let isAll = true;
  const walk = new PartitionWalk(looseLimits);
  let page: Awaited<ReturnType<LooseKeyStore['list']>> | null = null;
  do {
    page = await looseKeys.list(page?.next ?? null);
    // An account a transaction, so that none is locked for the length of the others.
    for (const [accountId, keys] of Map.groupBy(page.keys, (key) => key.accountId)) {
      if (signal.aborted) return isAll;
      const ids = keys.map(({ keyId }) => keyId);
      try {
        const isRemoved = await walk.visit(accountId, (limits) => limits.remove(accountId, ids));
        if (isRemoved) await looseKeys.delete(keys);
      } catch (error) {
        if (!isLockTimeout(error)) throw error;
        isAll = false;
      }
    }
  } while (page.next !== null && !walk.isOver);
  walk.throwFailure();
  return isAll;
}
