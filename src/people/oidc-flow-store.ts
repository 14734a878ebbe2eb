import type { Lane, Statement } from '../db/database.ts';

/** The SQL of sign-ins at OpenID providers that are under way. */

/** By the primary key. */
const insertFlow: Statement = {
  name: 'oidc-flows.insert',
  text: `insert into oidc_flows (handle_hash, provider, link_token_hash, attach_to_user_id, return_to, expires_at)
values ($1, $2, $3, $4, $5, $6)`,
};

/** Uses it up: of two that come at once, the second one finds nothing. By primary key. */
const takeFlow: Statement = {
  name: 'oidc-flows.take',
  text: `delete from oidc_flows where handle_hash = $1 and provider = $2 and expires_at > $3::timestamptz
returning link_token_hash, attach_to_user_id, return_to`,
};

const FORGOTTEN_ROWS_MAX = 1000;

/** Plan: oidc_flows_by_end. */
const deleteExpired: Statement = {
  name: 'oidc-flows.delete-expired',
  text: `delete from oidc_flows where handle_hash in (
  select handle_hash from oidc_flows where expires_at <= $1::timestamptz order by expires_at limit ${FORGOTTEN_ROWS_MAX}
  for update skip locked
)
returning 1 as gone`,
};

/** What a sign-in at a provider is for. */
export interface OidcFlow {
  /** The one-time link that it uses, if any. */
  readonly linkTokenHash: Buffer | null;
  /** The person who has signed in and adds this way to do so, if any. */
  readonly attachToUserId: string | null;
  /** Where the browser goes afterwards, on this gateway. */
  readonly returnTo: string;
}

interface NewOidcFlow extends OidcFlow {
  readonly handleHash: Buffer;
  readonly provider: string;
  readonly expiresAt: Date;
}

export interface OidcFlowStore {
  insert(flow: NewOidcFlow): Promise<void>;
  /** Uses it up; `null` if it was used, has expired, or was for another provider. */
  take(handleHash: Buffer, provider: string, at: Date): Promise<OidcFlow | null>;
  /** In batches, until none is left or the signal has aborted. */
  deleteExpired(atMs: number, signal: AbortSignal): Promise<void>;
}

interface FlowRow {
  link_token_hash: Buffer | null;
  attach_to_user_id: string | null;
  return_to: string;
}

export function createOidcFlowStore(database: Pick<Lane, 'query'>): OidcFlowStore {
  return {
    async insert({ handleHash, provider, linkTokenHash, attachToUserId, returnTo, expiresAt }) {
      const values = [handleHash, provider, linkTokenHash, attachToUserId, returnTo, expiresAt];
      await database.query(insertFlow, values);
    },
    async take(handleHash, provider, at) {
      const [row] = await database.query<FlowRow>(takeFlow, [handleHash, provider, at]);
      if (row === undefined) return null;
      const { link_token_hash: linkTokenHash, attach_to_user_id: attachToUserId, return_to: returnTo } = row;
      // A driver of the embedded engine returns plain bytes.
      return { linkTokenHash: linkTokenHash && Buffer.from(linkTokenHash), attachToUserId, returnTo };
    },
    async deleteExpired(atMs, signal) {
      let rows: unknown[];
      do rows = await database.query(deleteExpired, [new Date(atMs)]);
      while (rows.length === FORGOTTEN_ROWS_MAX && !signal.aborted);
    },
  };
}
