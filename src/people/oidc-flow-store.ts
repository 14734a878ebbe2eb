import type { Statement } from '../db/database.ts';
import { deleteInBatches, expiredRows } from '../db/expired-rows-store.ts';
import type { DirectoryQueryable } from '../db/home-pools.ts';
import { bytesColumn, orNull, type RowOf, tableColumns, textColumn } from '../db/table.ts';

/** Columns of pending sign-ins at OpenID providers. */

const FLOWS = tableColumns({
  /** Hash of the one-time link that is used by the sign-in; `null`: none. */
  linkTokenHash: orNull(bytesColumn('link_token_hash')),
  /** Signed-in user to whom the identity is added; `null`: none. */
  attachToUserId: orNull(textColumn('attach_to_user_id')),
  /** Path on this gateway to which the browser returns. */
  returnTo: textColumn('return_to'),
});

export type OidcFlow = RowOf<typeof FLOWS>;

const insertFlow: Statement = {
  name: 'oidc-flows.insert',
  text: `insert into oidc_flows (handle_hash, provider, expires_at, ${FLOWS.list})
values ($1, $2, $3, ${FLOWS.parameters(4)})`,
};

/** Takes a flow. A second request at the same time finds none. */
const takeFlow: Statement = {
  name: 'oidc-flows.take',
  text: `delete from oidc_flows where handle_hash = $1 and provider = $2 and expires_at > $3::timestamptz
returning ${FLOWS.list}`,
};

const deleteExpired = expiredRows('oidc-flows.delete-expired', 'oidc_flows', 'handle_hash');

interface NewOidcFlow extends OidcFlow {
  readonly handleHash: Buffer;
  readonly provider: string;
  readonly expiresAt: Date;
}

export type OidcFlowStore = ReturnType<typeof createOidcFlowStore>;

export function createOidcFlowStore(database: DirectoryQueryable) {
  return {
    async insert(flow: NewOidcFlow): Promise<void> {
      const { handleHash, provider, expiresAt } = flow;
      await database.query(insertFlow, [handleHash, provider, expiresAt, ...FLOWS.valuesOf(flow)]);
    },
    /** Takes a flow; `null` if it was used, has expired, or belongs to another provider. */
    take: async (handleHash: Buffer, provider: string, at: Date) =>
      FLOWS.first(await database.query(takeFlow, [handleHash, provider, at])),
    deleteExpired: (atMs: number, signal: AbortSignal) =>
      deleteInBatches(database, deleteExpired, new Date(atMs), signal),
  };
}
