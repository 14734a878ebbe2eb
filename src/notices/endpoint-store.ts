import { type Statement, toArray } from '../db/database.ts';
import type { DirectoryPool, DirectoryQueryable } from '../db/home-pools.ts';
import {
  booleanColumn,
  countColumn,
  dateColumn,
  listColumn,
  orNull,
  type RowOf,
  selection,
  textColumn,
} from '../db/table.ts';
import { deleteReceiver } from './delivery-store.ts';
import type { Form } from './messengers.ts';
import { type Notice, type NoticeKind, TEST_KIND } from './notice.ts';
import type { NoticeLanguage } from './notice-words.ts';
import { countSend } from './send-rate-store.ts';
import { ratesOfAskedSend } from './send-rates.ts';

const ENDPOINTS = selection({
  id: textColumn('id'),
  /** Account that owns the endpoint; `null`: operators own it, and it receives notices of all accounts. */
  accountId: orNull(textColumn('account_id')),
  /** Contains a secret unless the form is `faregate` (`shownUrl`). */
  url: textColumn('url'),
  form: textColumn<Form>(`coalesce(form, 'faregate') as form`),
  /** Language of messages to a messenger; `null`: the configured one. */
  language: orNull(textColumn<NoticeLanguage>('language')),
  isSigned: booleanColumn(`secret <> '' as is_signed`),
  /** Kinds of notices that it receives; `null`: all that its owner may get. */
  events: orNull(listColumn<NoticeKind>('events')),
  status: textColumn<'active' | 'disabled'>('status'),
  statusReason: orNull(textColumn('status_reason')),
  failingSince: orNull(dateColumn('failing_since')),
  createdAt: dateColumn('created_at'),
});

export type WebhookEndpoint = RowOf<typeof ENDPOINTS>;

const SECRET_ENDPOINTS = selection({ endpoint: ENDPOINTS, secret: textColumn('secret') });

const DELIVERIES = selection({
  noticeId: textColumn('d.notice_id'),
  kind: textColumn<Notice['kind']>('n.kind'),
  at: dateColumn('n.at'),
  status: textColumn<'pending' | 'delivered' | 'failed'>('d.status'),
  attempts: countColumn('d.attempts'),
  nextAttemptAt: orNull(dateColumn(`case when d.status = 'pending' then d.next_attempt_at end as next_attempt_at`)),
  lastAttemptAt: orNull(dateColumn('d.last_attempt_at')),
  lastStatus: orNull(countColumn('d.last_status')),
  lastError: orNull(textColumn('d.last_error')),
});

export type Delivery = RowOf<typeof DELIVERIES>;

interface NewWebhookEndpoint
  extends Pick<WebhookEndpoint, 'id' | 'accountId' | 'url' | 'form' | 'language' | 'events'> {
  /** Empty: requests are not signed. */
  readonly secret: string;
  readonly idempotencyKey: string | null;
  readonly at: Date;
}

export type InsertedEndpoint =
  | { readonly outcome: 'made' | 'repeated'; readonly endpoint: WebhookEndpoint; readonly secret: string }
  | { readonly outcome: 'key_conflict' | 'too_many' | 'unknown_account' };

/** Locks an owner, so that it creates one endpoint at a time and the limit is exact. */
const lockOwner: Statement = {
  name: 'webhooks.lock-owner',
  text: `select pg_advisory_xact_lock(hashtextextended('webhooks ' || $1, 0))`,
};

const accountExists: Statement = { name: 'webhooks.account-exists', text: 'select from accounts where id = $1' };

const selectKeyed: Statement = {
  name: 'webhooks.select-keyed',
  text: `select ${SECRET_ENDPOINTS.list} from webhook_endpoints where coalesce(account_id, '') = $1 and idempotency_key = $2`,
};

const countOwned: Statement = {
  name: 'webhooks.count',
  text: 'select count(*)::int as n from webhook_endpoints where account_id = $1 or ($1 is null and account_id is null)',
};

const insertEndpoint: Statement = {
  name: 'webhooks.insert',
  text: `insert into webhook_endpoints (id, account_id, url, secret, events, status, idempotency_key, created_at, form, language)
values ($1, $2, $3, $4, $5::text[], 'active', $6, $7, nullif($8, 'faregate'), $9)
returning ${SECRET_ENDPOINTS.list}`,
};

const listOfAccount: Statement = {
  name: 'webhooks.list-of-account',
  text: `select ${ENDPOINTS.list} from webhook_endpoints
where account_id = $1 and ($2::text is null or id < $2) order by id desc limit $3::int`,
};

const listAll: Statement = {
  name: 'webhooks.list',
  text: `select ${ENDPOINTS.list} from webhook_endpoints where ($1::text is null or id < $1) order by id desc limit $2::int`,
};

const selectEndpoint: Statement = {
  name: 'webhooks.select',
  text: `select ${ENDPOINTS.list} from webhook_endpoints where id = $1`,
};

/** Changes an endpoint. If it is enabled or its URL or secret changes, `failing_since` is reset. */
const updateEndpoint: Statement = {
  name: 'webhooks.update',
  text: `update webhook_endpoints set
  url = coalesce($2, url), events = case when $3::boolean then $4::text[] else events end,
  status = coalesce($5, status), status_reason = case when $5 is null then status_reason else $6 end,
  failing_since = case when $5 = 'active' or $2 <> url or $7 <> secret then null else failing_since end,
  secret = coalesce($7, secret), language = case when $8::boolean then $9 else language end
where id = $1
returning ${ENDPOINTS.list}`,
};

const deleteEndpoint: Statement = {
  name: 'webhooks.delete',
  text: 'delete from webhook_endpoints where id = $1 returning id',
};

const deleteDeliveries: Statement = {
  name: 'webhooks.delete-deliveries',
  text: 'delete from notice_deliveries where receiver = $1',
};

/** Locks a receiver. Recording an attempt locks in the same order: receiver, then endpoint. */
const lockReceiver: Statement = {
  name: 'webhooks.lock-receiver',
  text: 'select from notice_receivers where receiver = $1 for update',
};

/** Makes a receiver due at once, even during a cooldown. */
const wakeReceiver: Statement = {
  name: 'webhooks.wake-receiver',
  text: `insert into notice_receivers as r (receiver, channel, next_at) values ($1, $2, $3)
on conflict (receiver) do update set next_at = least(r.next_at, excluded.next_at), failures = 0`,
};

const insertTest: Statement = {
  name: 'webhooks.insert-test',
  text: `insert into notices (id, kind, account_id, subject, dedupe_key, data, at)
values ($1, '${TEST_KIND}', $2, $3, '${TEST_KIND} ' || $1, jsonb_build_object('endpointId', $3::text), $4::timestamptz)`,
};

const insertDelivery: Statement = {
  name: 'webhooks.insert-delivery',
  text: `insert into notice_deliveries (notice_id, receiver, status, next_attempt_at) values ($1, $2, 'pending', $3)`,
};

/** Queues a notice again. The receiver must be locked before, so that no attempt is recorded in the meantime. */
const redeliverNotice: Statement = {
  name: 'webhooks.redeliver',
  text: `update notice_deliveries set status = 'pending', attempts = 0, next_attempt_at = $3
where notice_id = $1 and receiver = $2 returning notice_id`,
};

/** Selects deliveries. Uses notice_deliveries_by_receiver in descending order, and the primary key of notices. */
const listDeliveries: Statement = {
  name: 'webhooks.list-deliveries',
  text: `select ${DELIVERIES.list}
from notice_deliveries d join notices n on n.id = d.notice_id
where d.receiver = $1 and ($2::text is null or d.notice_id < $2) order by d.notice_id desc limit $3::int`,
};

export type EndpointStore = ReturnType<typeof createEndpointStore>;

/** `too_many`: the limit of tests and redeliveries is reached. */
export type Redelivery = 'queued' | 'absent' | 'too_many';

export interface EndpointChange {
  readonly url?: string | undefined;
  /** Empty: requests to the messenger are not signed. */
  readonly secret?: string | undefined;
  readonly language?: NoticeLanguage | null | undefined;
  readonly events?: readonly NoticeKind[] | null | undefined;
  readonly status?: 'active' | 'disabled' | undefined;
}

export function createEndpointStore(database: DirectoryPool) {
  return {
    insert: (endpoint: NewWebhookEndpoint, countMax: number) =>
      database.transaction((transaction) => insert(transaction, endpoint, countMax)),
    /** Lists endpoints, newest first. `accountId`: only those of this account; `null`: all. */
    list: async (accountId: string | null, beforeId: string | null, limit: number) =>
      ENDPOINTS.all(
        await (accountId === null
          ? database.query(listAll, [beforeId, limit])
          : database.query(listOfAccount, [accountId, beforeId, limit])),
      ),
    find: async (id: string) => ENDPOINTS.first(await database.query(selectEndpoint, [id])),
    /** Changes an endpoint. Absent fields keep their value. If it becomes active, its pending deliveries are sent at once. */
    update: (id: string, { url, secret, language, events, status }: EndpointChange, at: Date) =>
      database.transaction(async (transaction) => {
        await transaction.query(lockReceiver, [id]);
        const list = events == null ? null : toArray(events);
        const reason = status === 'disabled' ? 'Disabled manually.' : null;
        const values = [id, url ?? null, events !== undefined, list, status ?? null, reason];
        const ofMessenger = [secret ?? null, language !== undefined, language ?? null];
        const endpoint = ENDPOINTS.first(await transaction.query(updateEndpoint, [...values, ...ofMessenger]));
        if (endpoint === null) return null;
        if (status === 'active') await wake(transaction, endpoint, at);
        if (status === 'disabled') await transaction.query(deleteReceiver, [id]);
        return endpoint;
      }),
    delete: (id: string) =>
      database.transaction(async (transaction) => {
        await transaction.query(lockReceiver, [id]);
        const deleted = await transaction.query(deleteEndpoint, [id]);
        await transaction.query(deleteReceiver, [id]);
        await transaction.query(deleteDeliveries, [id]);
        return deleted.length > 0;
      }),
    /** Queues a test. Returns `false` if the limit is reached. */
    test: (endpoint: WebhookEndpoint, noticeId: string, at: Date) =>
      database.transaction(async (transaction) => {
        if ((await countSend(transaction, ratesOfAskedSend(endpoint), at)) > 0) return false;
        await transaction.query(insertTest, [noticeId, endpoint.accountId, endpoint.id, at]);
        await transaction.query(insertDelivery, [noticeId, endpoint.id, at]);
        await wake(transaction, endpoint, at);
        return true;
      }),
    redeliver: (endpoint: WebhookEndpoint, noticeId: string, at: Date): Promise<Redelivery> =>
      database.transaction(async (transaction) => {
        // Limited, because each redelivery sends a request to a URL that anybody can choose.
        if ((await countSend(transaction, ratesOfAskedSend(endpoint), at)) > 0) return 'too_many';
        await wake(transaction, endpoint, at);
        return (await transaction.query(redeliverNotice, [noticeId, endpoint.id, at])).length > 0 ? 'queued' : 'absent';
      }),
    listDeliveries: async (endpointId: string, beforeId: string | null, limit: number) =>
      DELIVERIES.all(await database.query(listDeliveries, [endpointId, beforeId, limit])),
  };
}

async function insert(
  transaction: DirectoryQueryable,
  { id, accountId, url, form, language, events, secret, idempotencyKey, at }: NewWebhookEndpoint,
  countMax: number,
): Promise<InsertedEndpoint> {
  await transaction.query(lockOwner, [accountId ?? '']);
  if (accountId !== null && (await transaction.query(accountExists, [accountId])).length === 0) {
    return { outcome: 'unknown_account' };
  }
  const list = events === null ? null : toArray(events);
  if (idempotencyKey !== null) {
    const first = SECRET_ENDPOINTS.first(await transaction.query(selectKeyed, [accountId ?? '', idempotencyKey]));
    if (first !== null) {
      const { endpoint } = first;
      const isSame =
        endpoint.url === url &&
        endpoint.form === form &&
        endpoint.language === language &&
        JSON.stringify(endpoint.events) === JSON.stringify(events);
      return isSame ? { outcome: 'repeated', ...first } : { outcome: 'key_conflict' };
    }
  }
  const [count] = await transaction.query<{ n: number }>(countOwned, [accountId]);
  if (count!.n >= countMax) return { outcome: 'too_many' };
  const values = [id, accountId, url, secret, list, idempotencyKey, at, form, language];
  const [row] = await transaction.query(insertEndpoint, values);
  return { outcome: 'made', ...SECRET_ENDPOINTS.read(row!) };
}

async function wake(transaction: DirectoryQueryable, { id, accountId }: WebhookEndpoint, at: Date): Promise<void> {
  await transaction.query(wakeReceiver, [id, accountId === null ? 'operators' : 'accounts', at]);
}
