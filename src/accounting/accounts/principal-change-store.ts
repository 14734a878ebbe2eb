import type { Statement } from '../../db/database.ts';
import type { QueryableOf } from '../../db/home-lanes.ts';
import type { Home } from '../../db/homes.ts';

/** Nodes are notified on this channel to drop the cached keys of an account; the payload is the account's id. */
export const PRINCIPALS_CHANNEL = 'faregate_principals';

/**
 * Notifies every node. In a transaction it is sent on commit, so no node can read the old row after the notification, and none keeps what
 * it has read before. What is changed in a partition is announced there, by the transaction that changes it.
 */
const notifyPrincipals: Statement = {
  name: 'accounts.notify-principals',
  text: `select pg_notify('${PRINCIPALS_CHANNEL}', $1)`,
};

/** Makes every node drop the cached keys of an account. */
export async function announceChange(transaction: QueryableOf<Home>, accountId: string): Promise<void> {
  await transaction.query(notifyPrincipals, [accountId]);
}
