import type { Statement } from '../db/database.ts';
import { deleteInBatches, expiredRows } from '../db/expired-rows-store.ts';
import type { DirectoryPool } from '../db/home-pools.ts';
import { dateColumn, instantColumn, jsonbColumn, orNull, type RowOf, selection, textColumn } from '../db/table.ts';
import type { Membership, OperatorRole, UserActor } from './actor.ts';
import { SESSIONS_MAX } from './user.ts';

/** Minimum time between two updates of a session's last use. */
const SEEN_EVERY_MS = 60_000;

const ACTORS = selection({
  sessionId: textColumn('s.id as session_id'),
  id: textColumn('u.id as user_id'),
  name: textColumn('u.name'),
  operatorRole: orNull(textColumn<OperatorRole>('u.operator_role')),
  memberships: jsonbColumn<readonly Membership[]>(`(
    select coalesce(jsonb_agg(jsonb_build_object('accountId', m.account_id, 'role', m.role) order by m.account_id), '[]'::jsonb)
    from memberships m where m.user_id = u.id
  ) as memberships`),
  authenticatedAtMs: orNull(instantColumn('s.authenticated_at')),
});

/** Selects the current rights of a session's user, and records the use, at most once a minute. Uses sessions_by_token and primary keys. */
const readSession: Statement = {
  name: 'sessions.read',
  text: `with seen as (
  update sessions set last_seen_at = $2::timestamptz
  where token_hash = $1 and expires_at > $2::timestamptz and last_seen_at > $3::timestamptz and last_seen_at <= $4::timestamptz
)
select ${ACTORS.list}
from sessions s join users u on u.id = s.user_id
where s.token_hash = $1 and s.expires_at > $2::timestamptz and s.last_seen_at > $3::timestamptz and u.status = 'active'`,
};

/**
 * Locks the user. If the password or the status is changed at the same time, either this statement sees the change, or that transaction
 * ends the new session.
 */
const noteSignIn: Statement = {
  name: 'sessions.note-sign-in',
  text: `update users set last_sign_in_at = $2
where id = $1 and status = 'active' and ($3::text is null or password_hash = $3)
returning id`,
};

const insertSession: Statement = {
  name: 'sessions.insert',
  text: `insert into sessions (
  id, user_id, token_hash, created_at, last_seen_at, expires_at, client_address, user_agent, authenticated_at
)
values ($1, $2, $3, $4, $4, $5, $6, $7, $8)`,
};

/** Deletes the oldest sessions above the limit. Ids sort by time of creation. Uses sessions_by_user. */
const deleteSurplus: Statement = {
  name: 'sessions.delete-surplus',
  text: `delete from sessions where id in (
  select id from sessions where user_id = $1 order by id desc offset ${SESSIONS_MAX}
)`,
};

const SESSIONS = selection({
  id: textColumn('id'),
  createdAt: dateColumn('created_at'),
  lastSeenAt: dateColumn('last_seen_at'),
  expiresAt: dateColumn('expires_at'),
  clientAddress: orNull(textColumn('client_address')),
  userAgent: orNull(textColumn('user_agent')),
});

export type Session = RowOf<typeof SESSIONS>;

const listSessions: Statement = {
  name: 'sessions.list',
  text: `select ${SESSIONS.list} from sessions
where user_id = $1 and expires_at > $2::timestamptz and last_seen_at > $3::timestamptz order by id desc`,
};

const deleteSession: Statement = {
  name: 'sessions.delete',
  text: 'delete from sessions where id = $2 and user_id = $1 returning id',
};

/** Deletes the sessions of a user, except $2 if it is not null. Uses sessions_by_user. */
export const deleteSessionsOf: Statement = {
  name: 'sessions.delete-of-user',
  text: 'delete from sessions where user_id = $1 and ($2::text is null or id <> $2)',
};

const deleteExpired = expiredRows('sessions.delete-expired', 'sessions', 'id');

export interface SessionTimes {
  /** Maximum time between two requests of a session. */
  readonly idleMs: number;
  /** Maximum time from the sign-in to the end of a session. */
  readonly maxMs: number;
}

interface NewSession {
  readonly id: string;
  readonly userId: string;
  readonly tokenHash: Buffer;
  readonly clientAddress: string;
  readonly userAgent: string | null;
  readonly atMs: number;
  readonly authenticatedAtMs: number | null;
}

export type SessionStore = ReturnType<typeof createSessionStore>;

/** A change of `idleMs` applies to existing sessions, too; a change of `maxMs` only to new ones. */
export function createSessionStore(database: DirectoryPool, times: () => SessionTimes) {
  const idleSince = (atMs: number): Date => new Date(atMs - times().idleMs);
  return {
    /** Finds the user of a session; `null` if the session has ended or the user is suspended. */
    async read(tokenHash: Buffer, atMs: number): Promise<UserActor | null> {
      const seenBefore = new Date(atMs - SEEN_EVERY_MS);
      const instants = [new Date(atMs), idleSince(atMs), seenBefore];
      const actor = ACTORS.first(await database.query(readSession, [tokenHash, ...instants]));
      return actor && { kind: 'user', ...actor };
    },
    /**
     * Begins a session. Returns false if the user was suspended or the password was changed in the meantime. `checkedHash`: stored hash
     * that the password matched; `null`: the user signed in by other means.
     */
    begin: (session: NewSession, checkedHash: string | null): Promise<boolean> =>
      database.transaction(async (transaction) => {
        const { id, userId, tokenHash, clientAddress, userAgent, atMs, authenticatedAtMs } = session;
        const at = new Date(atMs);
        const [user] = await transaction.query(noteSignIn, [userId, at, checkedHash]);
        if (user === undefined) return false;
        const expiresAt = new Date(atMs + times().maxMs);
        await transaction.query(insertSession, [
          ...[id, userId, tokenHash, at, expiresAt, clientAddress, userAgent],
          authenticatedAtMs === null ? null : new Date(authenticatedAtMs),
        ]);
        await transaction.query(deleteSurplus, [userId]);
        return true;
      }),
    list: async (userId: string, atMs: number): Promise<Session[]> =>
      SESSIONS.all(await database.query(listSessions, [userId, new Date(atMs), idleSince(atMs)])),
    end: async (userId: string, sessionId: string) =>
      (await database.query(deleteSession, [userId, sessionId])).length > 0,
    async endAll(userId: string, exceptId: string | null): Promise<void> {
      await database.query(deleteSessionsOf, [userId, exceptId]);
    },
    deleteExpired: (atMs: number, signal: AbortSignal) =>
      deleteInBatches(database, deleteExpired, new Date(atMs), signal),
  };
}
