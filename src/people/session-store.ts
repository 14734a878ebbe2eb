import type { Statement } from '../db/database.ts';
import { deleteInBatches, expiredRows } from '../db/expired-rows-store.ts';
import type { DirectoryLane } from '../db/home-lanes.ts';
import { dateColumn, instantColumn, jsonbColumn, orNull, type RowOf, selection, textColumn } from '../db/table.ts';
import type { Membership, OperatorRole, UserActor } from './actor.ts';
import { SESSIONS_MAX } from './user.ts';

/** The SQL of sessions. */

/** An instant of use is written where the one before is at least that old, so that a page with many requests writes once. */
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

/**
 * Whose a session is, and what that person may do now; at most once a minute it also notes that the session is in use. By
 * sessions_by_token and primary keys.
 */
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
 * Locks the user, so that a change of the password or of the status either comes before, and is seen, or comes after, and ends
 * the session. Plan: primary key.
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

/** The oldest beyond the limit; ids sort by time. Plan: sessions_by_user. */
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

/** Plan: sessions_by_user; no more rows than a user may have. */
const listSessions: Statement = {
  name: 'sessions.list',
  text: `select ${SESSIONS.list} from sessions
where user_id = $1 and expires_at > $2::timestamptz and last_seen_at > $3::timestamptz order by id desc`,
};

/** By primary key. */
const deleteSession: Statement = {
  name: 'sessions.delete',
  text: 'delete from sessions where id = $2 and user_id = $1 returning id',
};

/** All of a user, or all but one. Plan: sessions_by_user. */
export const deleteSessionsOf: Statement = {
  name: 'sessions.delete-of-user',
  text: 'delete from sessions where user_id = $1 and ($2::text is null or id <> $2)',
};

/** Plan: sessions_by_end. */
const deleteExpired = expiredRows('sessions.delete-expired', 'sessions', 'id');

/** For how long sessions last. */
export interface SessionTimes {
  /** Without a request. */
  readonly idleMs: number;
  /** In all. */
  readonly maxMs: number;
}

interface NewSession {
  readonly id: string;
  readonly userId: string;
  readonly tokenHash: Buffer;
  readonly clientAddress: string;
  readonly userAgent: string | null;
  readonly atMs: number;
  /** When the person proved who it is; `null`: nobody knows. */
  readonly authenticatedAtMs: number | null;
}

export type SessionStore = ReturnType<typeof createSessionStore>;

/** @param times those in force: shorter ones apply to sessions that have begun, too, as far as they are about idleness. */
export function createSessionStore(database: DirectoryLane, times: () => SessionTimes) {
  const idleSince = (atMs: number): Date => new Date(atMs - times().idleMs);
  return {
    /** Whose session a token is; `null` if it has ended, or its user is suspended. */
    async read(tokenHash: Buffer, atMs: number): Promise<UserActor | null> {
      const seenBefore = new Date(atMs - SEEN_EVERY_MS);
      const instants = [new Date(atMs), idleSince(atMs), seenBefore];
      const actor = ACTORS.first(await database.query(readSession, [tokenHash, ...instants]));
      return actor && { kind: 'user', ...actor };
    },
    /**
     * Begins a session, unless the user was suspended, or has another password than the one that was checked, meanwhile.
     * `checkedHash`: the stored form of that password; `null` if the person has proven by something else who it is.
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
    /** Returns whether the user has such a session. */
    end: async (userId: string, sessionId: string) =>
      (await database.query(deleteSession, [userId, sessionId])).length > 0,
    /** `exceptId`: the session that goes on, if any. */
    async endAll(userId: string, exceptId: string | null): Promise<void> {
      await database.query(deleteSessionsOf, [userId, exceptId]);
    },
    /** In batches, until none is left or the signal has aborted. */
    deleteExpired: (atMs: number, signal: AbortSignal) =>
      deleteInBatches(database, deleteExpired, new Date(atMs), signal),
  };
}
