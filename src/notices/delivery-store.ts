import { type Statement, toArray } from '../db/database.ts';
import type { DirectoryPool, DirectoryQueryable } from '../db/home-pools.ts';
import { countColumn, instantColumn, jsonbColumn, orNull, type RowOf, selection, textColumn } from '../db/table.ts';
import type { Form } from './messengers.ts';
import type { Notice } from './notice.ts';
import type { NoticeLanguage } from './notice-words.ts';

/**
 * A receiver with pending deliveries has a row in `notice_receivers`. A node claims it with a lease and sends its notices one by one. If
 * the node dies, the lease expires and another node continues.
 */

/** Kinds of receivers. Each has its own concurrency limit. */
export const CHANNELS = ['operators', 'accounts', 'mail'] as const;
export type Channel = (typeof CHANNELS)[number];

const CLAIMED = selection({
  id: textColumn('t.lease_id'),
  receiver: textColumn('t.receiver'),
  channel: textColumn<Channel>('t.channel'),
});

export type Lease = RowOf<typeof CLAIMED>;

/** Claims receivers. Uses notice_receivers_due for each channel. */
const claim: Statement = {
  name: 'deliveries.claim',
  text: `with due as (
  select r.receiver
  from unnest($1::text[], $2::bigint[]) as wanted (channel, n) cross join lateral (
    select receiver from notice_receivers
    where channel = wanted.channel and next_at <= $3 and (leased_until is null or leased_until <= $3)
    order by next_at limit wanted.n for update skip locked
  ) r
)
update notice_receivers t set lease_id = $4, leased_until = $5 from due where t.receiver = due.receiver
returning ${CLAIMED.list}`,
};

/** SQL: the form of a webhook endpoint `e`. */
const FORM_OF_ENDPOINT = `coalesce(e.form, 'faregate') as form`;

const PENDING = selection({
  notice: selection({
    id: textColumn('d.notice_id'),
    kind: textColumn<Notice['kind']>('n.kind'),
    accountId: orNull(textColumn('n.account_id')),
    subject: textColumn('n.subject'),
    data: jsonbColumn<Notice['data']>('n.data'),
    atMs: instantColumn('n.at'),
  }),
  attempts: countColumn('d.attempts'),
  /** Webhook endpoint; `null` for mail, and if it was deleted. */
  endpoint: selection({
    url: orNull(textColumn('e.url')),
    secret: orNull(textColumn('e.secret')),
    form: textColumn<Form>(FORM_OF_ENDPOINT),
    /** Language of messages; `null`: the configured one. */
    language: orNull(textColumn<NoticeLanguage>('e.language')),
    /** Until when the endpoint gets nothing, because of its rate limit. */
    restsUntilMs: orNull(instantColumn('e.rests_until')),
  }).to(({ url, secret, ...rest }) => (url === null || secret === null ? null : { url, secret, ...rest })),
  accountName: orNull(textColumn('a.name as account_name')),
});

export type PendingDelivery = RowOf<typeof PENDING>;

const selectNext: Statement = {
  name: 'deliveries.select-next',
  text: `select ${PENDING.list}
from notice_deliveries d join notices n on n.id = d.notice_id left join webhook_endpoints e on e.id = d.receiver
  left join accounts a on a.id = n.account_id
where d.receiver = $1 and d.status = 'pending' and d.next_attempt_at <= $2
order by d.next_attempt_at limit 1`,
};

const HELD = selection({ leaseId: orNull(textColumn('lease_id')), failures: countColumn('failures') });

/** Locks a receiver. The lock protects its pending deliveries. */
const lockReceiver: Statement = {
  name: 'deliveries.lock-receiver',
  text: `select ${HELD.list} from notice_receivers where receiver = $1 for update`,
};

/** Records an attempt. Its result is valid even if the lease has expired. */
const recordAttempt: Statement = {
  name: 'deliveries.record-attempt',
  text: `update notice_deliveries set attempts = attempts + 1, status = $3, next_attempt_at = coalesce($4, next_attempt_at),
  last_attempt_at = $5, last_status = $6, last_error = $7
where notice_id = $1 and receiver = $2 and status = 'pending'`,
};

const setFailures: Statement = {
  name: 'deliveries.set-failures',
  text: 'update notice_receivers set failures = $2, leased_until = $3 where receiver = $1',
};

const endpointSucceeded: Statement = {
  name: 'deliveries.endpoint-succeeded',
  text: 'update webhook_endpoints set failing_since = null where id = $1 and failing_since is not null',
};

const endpointFailed: Statement = {
  name: 'deliveries.endpoint-failed',
  text: `update webhook_endpoints set failing_since = coalesce(failing_since, $2) where id = $1 returning failing_since`,
};

/** Makes an endpoint rest. It does not become shorter. */
const restEndpoint: Statement = {
  name: 'deliveries.rest-endpoint',
  text: 'update webhook_endpoints set rests_until = greatest(rests_until, $2) where id = $1',
};

const disableEndpoint: Statement = {
  name: 'deliveries.disable-endpoint',
  text: `update webhook_endpoints set status = 'disabled', status_reason = $2 where id = $1`,
};

const selectEarliest: Statement = {
  name: 'deliveries.select-earliest',
  text: `select next_attempt_at from notice_deliveries where receiver = $1 and status = 'pending'
order by next_attempt_at limit 1`,
};

const endLease: Statement = {
  name: 'deliveries.end-lease',
  text: 'update notice_receivers set next_at = $2, lease_id = null, leased_until = null where receiver = $1',
};

export const deleteReceiver: Statement = {
  name: 'deliveries.delete-receiver',
  text: 'delete from notice_receivers where receiver = $1',
};

const countDue: Statement = {
  name: 'deliveries.count-due',
  text: `select count(*)::int as n from (
  select from notice_receivers where channel = any ($1::text[]) and next_at <= $2 limit 10000
) due`,
};

export interface AttemptRecord {
  readonly noticeId: string;
  readonly status: 'delivered' | 'failed' | 'pending';
  readonly nextAttemptAtMs: number | null;
  readonly lastStatus: number | null;
  readonly lastError: string | null;
  readonly atMs: number;
  readonly leasedUntilMs: number;
  /** Until when the endpoint gets nothing, because of its rate limit; `null`: no limit. */
  readonly restsUntilMs: number | null;
  /** Why the endpoint wants no more notices (HTTP 410); `null`: it does. */
  readonly goneReason: string | null;
  /** If all attempts since before `sinceMs` have failed, the endpoint is disabled for this reason. */
  readonly failingLimit: { readonly sinceMs: number; readonly reason: string };
}

export type DeliveryStore = ReturnType<typeof createDeliveryStore>;

export function createDeliveryStore(database: DirectoryPool) {
  return {
    async claim(wanted: Readonly<Record<Channel, number>>, nowMs: number, leaseId: string, leasedUntilMs: number) {
      const places = [toArray(CHANNELS), toArray(CHANNELS.map((channel) => wanted[channel]))];
      const values = [...places, new Date(nowMs), leaseId, new Date(leasedUntilMs)];
      return CLAIMED.all(await database.query(claim, values));
    },
    next: async ({ receiver }: Lease, nowMs: number) =>
      PENDING.first(await database.query(selectNext, [receiver, new Date(nowMs)])),
    /** Records an attempt. Returns whether the lease is still held and the receiver can get more notices. */
    record: (lease: Lease, attempt: AttemptRecord) =>
      database.transaction(async (transaction) => {
        const { noticeId, status, nextAttemptAtMs, lastStatus, lastError, atMs } = attempt;
        const held = await lockHeld(transaction, lease);
        const isSuccess = status === 'delivered';
        if (held === null && !isSuccess) return false;
        const at = new Date(atMs);
        const nextAt = nextAttemptAtMs === null ? null : new Date(nextAttemptAtMs);
        await transaction.query(recordAttempt, [noticeId, lease.receiver, status, nextAt, at, lastStatus, lastError]);
        if (held === null) return false;
        const isDisabled = await recordOfEndpoint(transaction, lease, attempt);
        if (isDisabled) {
          await transaction.query(deleteReceiver, [lease.receiver]);
          return false;
        }
        const failures = isSuccess ? 0 : held.failures + 1;
        await transaction.query(setFailures, [lease.receiver, failures, new Date(attempt.leasedUntilMs)]);
        return isSuccess;
      }),
    /** Releases a receiver. After failures in a row, it has a cooldown. It is served again no earlier than `restsUntilMs`. */
    release: (
      lease: Lease,
      nowMs: number,
      restsUntilMs: number,
      cooldownMs: (failures: number) => number,
    ): Promise<void> =>
      database.transaction(async (transaction) => {
        const held = await lockHeld(transaction, lease);
        if (held === null) return;
        const [earliest] = await transaction.query<{ next_attempt_at: Date }>(selectEarliest, [lease.receiver]);
        if (earliest === undefined) {
          await transaction.query(deleteReceiver, [lease.receiver]);
          return;
        }
        const cooledDownMs = held.failures === 0 ? nowMs : nowMs + cooldownMs(held.failures);
        const nextMs = Math.max(earliest.next_attempt_at.getTime(), cooledDownMs, restsUntilMs);
        await transaction.query(endLease, [lease.receiver, new Date(nextMs)]);
      }),
    /** Counts due receivers, up to 10,000. */
    async countDue(nowMs: number): Promise<number> {
      const [row] = await database.query<{ n: number }>(countDue, [toArray(CHANNELS), new Date(nowMs)]);
      return row!.n;
    },
  };
}

/** Locks a receiver; `null` if its lease is no longer held. */
async function lockHeld(
  transaction: DirectoryQueryable,
  { receiver, id }: Lease,
): Promise<{ readonly failures: number } | null> {
  const held = HELD.first(await transaction.query(lockReceiver, [receiver]));
  return held?.leaseId === id ? held : null;
}

/** Records an attempt for an endpoint. Returns whether it is now disabled; its pending deliveries then wait until it is enabled again. */
async function recordOfEndpoint(
  transaction: DirectoryQueryable,
  { receiver, channel }: Lease,
  { status, atMs, restsUntilMs, goneReason, failingLimit }: AttemptRecord,
): Promise<boolean> {
  if (channel === 'mail') return false;
  if (restsUntilMs !== null) await transaction.query(restEndpoint, [receiver, new Date(restsUntilMs)]);
  if (status === 'delivered') {
    await transaction.query(endpointSucceeded, [receiver]);
    return false;
  }
  const [row] = await transaction.query<{ failing_since: Date }>(endpointFailed, [receiver, new Date(atMs)]);
  if (row === undefined) return true;
  const isFailing = row.failing_since.getTime() <= failingLimit.sinceMs;
  if (goneReason === null && !isFailing) return false;
  await transaction.query(disableEndpoint, [receiver, goneReason ?? failingLimit.reason]);
  return true;
}
