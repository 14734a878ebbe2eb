import { fieldsOf } from '../../db/columns.ts';
import type { Statement } from '../../db/database.ts';
import { nowSql } from '../../db/database-time.ts';
import type { PartitionQueryable } from '../../db/home-pools.ts';
import { booleanColumn, bytesColumn, intColumn, jsonbColumn, orNull, selection, textColumn } from '../../db/table.ts';
import type { HeldCall } from '../../lib/two-phase.ts';
import type { CallKey, KeyedCall, StoredHead, StoredResponse } from './stored-response.ts';
import { ROW_BYTES } from './stored-response-capacity.ts';

/** A response is valid (`is_valid`) only once its call is settled: then no repeat gets an unpaid response, or pays twice. */

const inMs = (now: string, ms: string): string => `${nowSql(now)} + ${ms}::bigint * interval '1 millisecond'`;

/** SQL: until when a row blocks new claims: the expiry of its response; without one, when its node counts as dead. */
const HELD_UNTIL = 'case when k.is_valid then k.expires_at else k.claimed_until end';

const IS_FREE = `${HELD_UNTIL} <= ${nowSql('$6')}`;

/** `IS_FREE` for `on conflict`, where Citus allows no clock functions. The new claim expires $7 milliseconds after the current time. */
const IS_FREE_FOR_NEW = `excluded.claimed_until - ${HELD_UNTIL} >= $7::bigint * interval '1 millisecond'`;

const CLAIMS = selection({
  isClaimed: booleanColumn('is_claimed'),
  fingerprint: orNull(textColumn('case when not was_free then fingerprint end as fingerprint')),
  hasEnded: orNull(booleanColumn('has_ended and not was_free as has_ended')),
});

/**
 * Claims keys. If a key is refused, the statement locks the row and returns its previous contents; none if another node has claimed the key
 * concurrently. Rows are ordered by key, so that nodes that claim the same keys do not deadlock. Uses the primary key.
 */
const claimKeys: Statement = {
  name: 'idempotency.claim-keys',
  text: `with wanted as (
  select * from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[])
    with ordinality as w (account_id, key_id, idempotency_key, fingerprint, claim_id, position)
),
claimed as (
  insert into stored_responses as k (account_id, key_id, idempotency_key, fingerprint, claim_id, claimed_until, expires_at)
  select account_id, key_id, idempotency_key, fingerprint, claim_id, ${inMs('$6', '$7')}, ${inMs('$6', '$8')}
  from wanted
  order by account_id, key_id, idempotency_key
  on conflict (account_id, key_id, idempotency_key) do update set
    fingerprint = excluded.fingerprint, claim_id = excluded.claim_id, claimed_until = excluded.claimed_until,
    expires_at = excluded.expires_at, is_valid = false, head = null, body = null
  where ${IS_FREE_FOR_NEW}
  returning k.account_id, k.claim_id
),
found as (
  select wanted.position, claimed.claim_id is not null as is_claimed, k.fingerprint, k.is_valid as has_ended,
    ${IS_FREE} as was_free
  from wanted
  left join claimed using (account_id, claim_id)
  left join stored_responses k using (account_id, key_id, idempotency_key)
)
select ${CLAIMS.list}
from found order by position`,
};

/** Maximum size of a body that is read at once. For larger ones, memory must be reserved first. */
const SMALL_BODY_BYTES = 16_384;

const RESPONSES = selection({
  head: jsonbColumn<StoredHead>('head'),
  bodyBytes: orNull(intColumn('octet_length(body) as body_bytes')),
  body: orNull(bytesColumn(`case when octet_length(body) <= ${SMALL_BODY_BYTES} then body end as body`)),
});

const BODIES = selection({ body: orNull(bytesColumn('body')) });

const selectOf = (name: string, columns: string): Statement => ({
  name: `idempotency.${name}`,
  text: `select ${columns} from stored_responses
where account_id = $1 and key_id = $2 and idempotency_key = $3 and fingerprint = $4 and is_valid`,
});
/** Selects a response without reading its body. The database reads only the size of bodies that are stored out of line. */
const selectResponse = selectOf('select-response', RESPONSES.list);
const selectBody = selectOf('select-body', BODIES.list);

const selectHeld: Statement = {
  name: 'idempotency.select-held',
  text: `select true as is_held from stored_responses k
where account_id = $1 and key_id = $2 and idempotency_key = $3 and ${HELD_UNTIL} > ${nowSql('$4')}`,
};

/** Stores a single response, because bodies may be large. Uses stored_responses_by_claim. */
const keepResponse: Statement = {
  name: 'idempotency.keep-response',
  text: `update stored_responses set head = $3::jsonb, body = $4::bytea, claimed_until = ${inMs('$5', '$6')},
  expires_at = ${inMs('$5', '$7')}
where account_id = $1 and claim_id = $2
returning claim_id`,
};

/** SQL: locks rows in the same order as claims do, which prevents deadlocks. */
const LOCKED_CLAIMS = `with locked as (
  select k.account_id, k.claim_id from stored_responses k
  join unnest($1::text[], $2::text[]) as w (account_id, claim_id) using (account_id, claim_id)
  order by k.account_id, k.key_id, k.idempotency_key
  for update of k
)`;

/** Sums the sizes of bodies. The database reads only the size of those that are stored out of line. Uses the primary key. */
const sumBytes: Statement = {
  name: 'idempotency.sum-bytes',
  text: `select (coalesce(sum(octet_length(body)), 0) + count(head) * ${ROW_BYTES})::bigint as bytes
from stored_responses where account_id = $1`,
};

/** Frees the claims of calls that have not ended. Uses stored_responses_by_claim. */
const freeClaims: Statement = {
  name: 'idempotency.free-claims',
  text: `${LOCKED_CLAIMS}
delete from stored_responses k using locked
where k.account_id = locked.account_id and k.claim_id = locked.claim_id and not k.is_valid`,
};

const renewClaims: Statement = {
  name: 'idempotency.renew-claims',
  text: `${LOCKED_CLAIMS}
update stored_responses k set claimed_until = ${inMs('$3', '$4')} from locked
where k.account_id = locked.account_id and k.claim_id = locked.claim_id`,
};

/** Frees all claims that an earlier process left. Only for a database that a single process uses, at its start. */
const freeLeftClaims: Statement = {
  name: 'idempotency.free-left-claims',
  text: `delete from stored_responses k where not k.is_valid`,
};

/** Maximum rows that one statement deletes, because bodies may be large. */
const FORGOTTEN_ROWS_MAX = 100;

/**
 * How long claims of calls without a known end are kept. Such an end may wait in a journal. Without its claim it would be treated as
 * replaced by a repeat, and the call would never be charged.
 */
const UNENDED_KEPT_DAYS = 30;

/** Deletes expired rows. Rows of running calls stay, and for a time those of calls that never ended. Uses stored_responses_by_expiry. */
const forgetExpired: Statement = {
  name: 'idempotency.forget-expired',
  text: `with expired as (
  select account_id, claim_id from stored_responses
  where expires_at <= ${nowSql('$1')} and claimed_until <= ${nowSql('$1')}
    and (is_valid or expires_at <= ${nowSql('$1')} - interval '${UNENDED_KEPT_DAYS} days')
  order by expires_at
  limit ${FORGOTTEN_ROWS_MAX}
  for update skip locked
)
delete from stored_responses k using expired
where k.account_id = expired.account_id and k.claim_id = expired.claim_id
returning k.claim_id`,
};

export interface ClaimRequest extends KeyedCall, HeldCall {}

/**
 * - `claimed`: the key is free for this call.
 * - `running`: another node runs a call with this key.
 * - `contended`: another node claimed the key concurrently; another attempt shows for which request.
 * - `answered`: a response is stored.
 * - `other_request`: the key was used for a different request.
 */
export type ClaimVerdict = 'claimed' | 'running' | 'contended' | 'answered' | 'other_request';

export interface ClaimTerms {
  /** For tests: replaces the database's clock; `null` in production. */
  readonly nowMs: number | null;
  /** How long a claim lasts without renewal. Then its node counts as dead. */
  readonly claimedForMs: number;
  readonly keptForMs: number;
}

/** A response that is stored before its call is settled. */
export interface StoredClaim extends HeldCall, StoredResponse {
  readonly billedCallId: string;
  readonly startedAtMs: number;
  /** How long the response is kept after the end of the call, in milliseconds. */
  readonly keptForMs: number;
}

export interface FoundResponse extends StoredResponse {
  readonly unreadBytes?: number;
}

export interface StoredResponseStore {
  /** Claims keys, with results in the order of the requests. Each key may occur only once. */
  claim(requests: readonly ClaimRequest[], terms: ClaimTerms, signal?: AbortSignal): Promise<ClaimVerdict[]>;
  /** Whether a call with the key runs or has a stored response. */
  isHeld(key: CallKey, nowMs: number | null, signal?: AbortSignal): Promise<boolean>;
  /** Finds the response to a call; `null` if none is stored, or the call has not ended. */
  find(call: KeyedCall, signal?: AbortSignal): Promise<FoundResponse | null>;
  /** Reads the body of a response; `null` if it has expired in the meantime. */
  readBody(call: KeyedCall, signal?: AbortSignal): Promise<Buffer | null>;
  /** Stores a response. Returns false if the claim was lost. */
  keep(responded: StoredClaim, terms: ClaimTerms): Promise<boolean>;
  storedBytes(accountId: string): Promise<number>;
  free(claims: readonly HeldCall[]): Promise<void>;
  renew(claims: readonly HeldCall[], terms: Pick<ClaimTerms, 'nowMs' | 'claimedForMs'>): Promise<void>;
  freeLeft(): Promise<void>;
  /** Deletes expired rows in batches, until none is left or the signal is aborted. */
  forgetExpired(nowMs: number | null, signal?: AbortSignal): Promise<void>;
}

export function createStoredResponseStore(database: PartitionQueryable): StoredResponseStore {
  return {
    async claim(requests, { nowMs, claimedForMs, keptForMs }, signal) {
      const keys = fieldsOf(requests, 'accountId', 'keyId', 'idempotencyKey', 'fingerprint', 'callId');
      const parameters = [...keys, toInstant(nowMs), claimedForMs, keptForMs];
      const rows = await database.query(claimKeys, parameters, signal);
      return CLAIMS.all(rows).map(({ isClaimed, fingerprint, hasEnded }, i) => {
        if (isClaimed) return 'claimed';
        if (fingerprint === null) return 'contended';
        if (fingerprint !== requests[i]!.fingerprint) return 'other_request';
        return hasEnded ? 'answered' : 'running';
      });
    },
    async isHeld({ accountId, keyId, idempotencyKey }, nowMs, signal) {
      const rows = await database.query(selectHeld, [accountId, keyId, idempotencyKey, toInstant(nowMs)], signal);
      return rows.length > 0;
    },
    async find(call, signal) {
      const found = RESPONSES.first(await database.query(selectResponse, namesOf(call), signal));
      if (found === null) return null;
      const { head, body, bodyBytes } = found;
      return body !== null || bodyBytes === null ? { head, body } : { head, body, unreadBytes: bodyBytes };
    },
    readBody: async (call, signal) =>
      BODIES.first(await database.query(selectBody, namesOf(call), signal))?.body ?? null,
    async keep({ accountId, callId, head, body }, { nowMs, claimedForMs, keptForMs }) {
      const rows = await database.query(keepResponse, [
        accountId,
        callId,
        JSON.stringify(head),
        body,
        toInstant(nowMs),
        claimedForMs,
        keptForMs,
      ]);
      return rows.length > 0;
    },
    async storedBytes(accountId) {
      const [row] = await database.query<{ bytes: bigint }>(sumBytes, [accountId]);
      return Number(row!.bytes);
    },
    async free(claims) {
      await database.query(freeClaims, fieldsOf(claims, 'accountId', 'callId'));
    },
    async renew(claims, { nowMs, claimedForMs }) {
      const names = fieldsOf(claims, 'accountId', 'callId');
      await database.query(renewClaims, [...names, toInstant(nowMs), claimedForMs]);
    },
    async freeLeft() {
      await database.query(freeLeftClaims);
    },
    async forgetExpired(nowMs, signal) {
      let rows: unknown[];
      do rows = await database.query(forgetExpired, [toInstant(nowMs)]);
      while (rows.length === FORGOTTEN_ROWS_MAX && !signal?.aborted);
    },
  };
}

const namesOf = ({ accountId, keyId, idempotencyKey, fingerprint }: KeyedCall): string[] => [
  accountId,
  keyId,
  idempotencyKey,
  fingerprint,
];

function toInstant(nowMs: number | null): Date | null {
  return nowMs === null ? null : new Date(nowMs);
}
