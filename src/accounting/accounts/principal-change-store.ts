import type { Statement } from '../../db/database.ts';
import type { QueryableOf } from '../../db/home-pools.ts';
import type { Home } from '../../db/homes.ts';

/** Notifies nodes to drop the cached keys of an account. The payload is the account id. */
export const PRINCIPALS_CHANNEL = 'faregate_principals';

/** PostgreSQL sends the notification on commit, so no node keeps data that it read before the change. */
const notifyPrincipals: Statement = {
  name: 'accounts.notify-principals',
  text: `select pg_notify('${PRINCIPALS_CHANNEL}', $1)`,
};

export async function announceChange(transaction: QueryableOf<Home>, accountId: string): Promise<void> {
  await transaction.query(notifyPrincipals, [accountId]);
}
