import type { Statement } from '../db/database.ts';
import { deleteInBatches, expiredRows } from '../db/expired-rows-store.ts';
import type { DirectoryQueryable } from '../db/home-lanes.ts';
import { bytesColumn, orNull, type RowOf, tableColumns, textColumn } from '../db/table.ts';

/** The SQL of sign-ins at OpenID providers that are under way. */

const FLOWS = tableColumns({
  /** The one-time link that it uses, if any. */
  linkTokenHash: orNull(bytesColumn('link_token_hash')),
  /** The person who has signed in and adds this way to do so, if any. */
  attachToUserId: orNull(textColumn('attach_to_user_id')),
  /** Where the browser goes afterwards, on this gateway. */
  returnTo: textColumn('return_to'),
});

/** What a sign-in at a provider is for. */
export type OidcFlow = RowOf<typeof FLOWS>;

/** By the primary key. */
const insertFlow: Statement = {
  name: 'oidc-flows.insert',
  text: `insert into oidc_flows (handle_hash, provider, expires_at, ${FLOWS.list})
values ($1, $2, $3, ${FLOWS.parameters(4)})`,
};

/** Uses it up: of two that come at once, the second one finds nothing. By primary key. */
const takeFlow: Statement = {
  name: 'oidc-flows.take',
  text: `delete from oidc_flows where handle_hash = $1 and provider = $2 and expires_at > $3::timestamptz
returning ${FLOWS.list}`,
};

/** Plan: oidc_flows_by_end. */
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
    /** Uses it up; `null` if it was used, has expired, or was for another provider. */
    take: async (handleHash: Buffer, provider: string, at: Date) =>
      FLOWS.first(await database.query(takeFlow, [handleHash, provider, at])),
    /** In batches, until none is left or the signal has aborted. */
    deleteExpired: (atMs: number, signal: AbortSignal) =>
      deleteInBatches(database, deleteExpired, new Date(atMs), signal),
  };
}
