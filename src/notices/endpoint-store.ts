import { type Lane, type Queryable, type Statement, toArray } from '../db/database.ts';
import { type Notice, type NoticeKind, TEST_KIND } from './notice.ts';
import { countSend } from './send-rate-store.ts';
import { ratesOfAskedSend } from './send-rates.ts';

/** The SQL of webhook endpoints, and of what was sent to them, as people use it. */

/** Where signed notices are sent to. */
export interface WebhookEndpoint {
  readonly id: string;
  /** `null`: of the operators, for all accounts. */
  readonly accountId: string | null;
  readonly url: string;
  /** Which kinds it gets; `null`: all that its account, or operators, hear of. */
  readonly events: readonly NoticeKind[] | null;
  readonly status: 'active' | 'disabled';
  readonly statusReason: string | null;
  readonly failingSince: Date | null;
  readonly createdAt: Date;
}

interface NewWebhookEndpoint extends Pick<WebhookEndpoint, 'id' | 'accountId' | 'url' | 'events'> {
  readonly secret: string;
  readonly idempotencyKey: string | null;
  readonly at: Date;
}

export type InsertedEndpoint =
  | { readonly outcome: 'made' | 'repeated'; readonly endpoint: WebhookEndpoint; readonly secret: string }
  | { readonly outcome: 'key_conflict' | 'too_many' | 'unknown_account' };

/** What became of a notice for an endpoint. */
export interface Delivery {
  readonly noticeId: string;
  readonly kind: Notice['kind'];
  readonly at: Date;
  readonly status: 'pending' | 'delivered' | 'failed';
  readonly attempts: number;
  /** `null` if none follows. */
  readonly nextAttemptAt: Date | null;
  readonly lastAttemptAt: Date | null;
  readonly lastStatus: number | null;
  readonly lastError: string | null;
}

/** An account's threshold of `balance.low`. */
export interface LowBalance {
  /** `null`: the configuration's. */
  readonly lowBalanceNano: bigint | null;
}

const COLUMNS = 'id, account_id, url, to_json(events) as events, status, status_reason, failing_since, created_at';

/** Owners have the same number as one another; whoever makes one waits for those who make another one. */
const lockOwner: Statement = {
  name: 'webhooks.lock-owner',
  text: `select pg_advisory_xact_lock(hashtextextended('webhooks ' || $1, 0))`,
};

const accountExists: Statement = { name: 'webhooks.account-exists', text: 'select from accounts where id = $1' };

/** Plan: webhook_endpoints_by_idempotency_key. */
const selectKeyed: Statement = {
  name: 'webhooks.select-keyed',
  text: `select ${COLUMNS}, secret from webhook_endpoints where coalesce(account_id, '') = $1 and idempotency_key = $2`,
};

/** Plan: webhook_endpoints_by_account. */
const countOwned: Statement = {
  name: 'webhooks.count',
  text: 'select count(*)::int as n from webhook_endpoints where account_id = $1 or ($1 is null and account_id is null)',
};

const insertEndpoint: Statement = {
  name: 'webhooks.insert',
  text: `insert into webhook_endpoints (id, account_id, url, secret, events, status, idempotency_key, created_at)
values ($1, $2, $3, $4, $5::text[], 'active', $6, $7)
returning ${COLUMNS}, secret`,
};

/** Plan: webhook_endpoints_by_account. */
const listOfAccount: Statement = {
  name: 'webhooks.list-of-account',
  text: `select ${COLUMNS} from webhook_endpoints
where account_id = $1 and ($2::text is null or id < $2) order by id desc limit $3::int`,
};

/** Plan: primary key. */
const listAll: Statement = {
  name: 'webhooks.list',
  text: `select ${COLUMNS} from webhook_endpoints where ($1::text is null or id < $1) order by id desc limit $2::int`,
};

/** Plan: primary key, as the next ones. */
const selectEndpoint: Statement = {
  name: 'webhooks.select',
  text: `select ${COLUMNS} from webhook_endpoints where id = $1`,
};

/** An endpoint that is active again has not failed yet, and neither has one at another address. */
const updateEndpoint: Statement = {
  name: 'webhooks.update',
  text: `update webhook_endpoints set
  url = coalesce($2, url), events = case when $3::boolean then $4::text[] else events end,
  status = coalesce($5, status), status_reason = case when $5 is null then status_reason else $6 end,
  failing_since = case when $5 = 'active' or $2 <> url then null else failing_since end
where id = $1
returning ${COLUMNS}`,
};

const deleteEndpoint: Statement = {
  name: 'webhooks.delete',
  text: 'delete from webhook_endpoints where id = $1 returning id',
};

/** Plan: notice_deliveries_by_receiver. */
const deleteDeliveries: Statement = {
  name: 'webhooks.delete-deliveries',
  text: 'delete from notice_deliveries where receiver = $1',
};

const deleteReceiver: Statement = {
  name: 'webhooks.delete-receiver',
  text: 'delete from notice_receivers where receiver = $1',
};

/**
 * Before the endpoint is changed, in the order of an attempt that is recorded: it holds its receiver, and then writes to the
 * endpoint. Plan: primary key.
 */
const lockReceiver: Statement = {
  name: 'webhooks.lock-receiver',
  text: 'select from notice_receivers where receiver = $1 for update',
};

/** A receiver that rests after failures is tried at once. */
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

/** A lock of the receiver comes first, so that no attempt is recorded meanwhile. */
const redeliverNotice: Statement = {
  name: 'webhooks.redeliver',
  text: `update notice_deliveries set status = 'pending', attempts = 0, next_attempt_at = $3
where notice_id = $1 and receiver = $2 returning notice_id`,
};

/** Plan: notice_deliveries_by_receiver, backwards; notices by primary key. */
const listDeliveries: Statement = {
  name: 'webhooks.list-deliveries',
  text: `select d.notice_id, n.kind, n.at, d.status, d.attempts,
  case when d.status = 'pending' then d.next_attempt_at end as next_attempt_at, d.last_attempt_at, d.last_status, d.last_error
from notice_deliveries d join notices n on n.id = d.notice_id
where d.receiver = $1 and ($2::text is null or d.notice_id < $2) order by d.notice_id desc limit $3::int`,
};

const selectLowBalance: Statement = {
  name: 'notices.select-low-balance',
  text: 'select low_balance_nano from accounts where id = $1',
};

/** The account is looked at anew. */
const updateLowBalance: Statement = {
  name: 'notices.update-low-balance',
  text: `with changed as (update accounts set low_balance_nano = $2::bigint where id = $1 returning id),
queued as (insert into account_changes (account_ids) select array[id] from changed)
select id from changed`,
};

export interface EndpointStore {
  insert(endpoint: NewWebhookEndpoint, countMax: number): Promise<InsertedEndpoint>;
  /** Newest first; `accountId`: of one account alone. */
  list(accountId: string | null, beforeId: string | null, limit: number): Promise<WebhookEndpoint[]>;
  find(id: string): Promise<WebhookEndpoint | null>;
  /** What is absent stays. An endpoint that becomes active gets at once what waits for it. */
  update(id: string, change: EndpointChange, at: Date): Promise<WebhookEndpoint | null>;
  /** Deletes an endpoint, and what was to be sent to it. */
  delete(id: string): Promise<boolean>;
  /** Queues a notice for the endpoint alone; returns `false` if it has had too many of them. */
  test(endpoint: WebhookEndpoint, noticeId: string, at: Date): Promise<boolean>;
  /** Queues a notice once more, whatever became of it. */
  redeliver(endpoint: WebhookEndpoint, noticeId: string, at: Date): Promise<Redelivery>;
  listDeliveries(endpointId: string, beforeId: string | null, limit: number): Promise<Delivery[]>;
  /** `null` if there is no such account. */
  findLowBalance(accountId: string): Promise<LowBalance | null>;
  /** Returns whether there is such an account. */
  setLowBalance(accountId: string, lowBalanceNano: bigint | null): Promise<boolean>;
}

/** `absent`: there is no such delivery; `too_many`: tests count too. */
export type Redelivery = 'queued' | 'absent' | 'too_many';

export interface EndpointChange {
  readonly url?: string | undefined;
  readonly events?: readonly NoticeKind[] | null | undefined;
  readonly status?: 'active' | 'disabled' | undefined;
}

export function createEndpointStore(database: Lane): EndpointStore {
  return {
    insert: (endpoint, countMax) => database.transaction((transaction) => insert(transaction, endpoint, countMax)),
    async list(accountId, beforeId, limit) {
      const rows = await (accountId === null
        ? database.query<EndpointRow>(listAll, [beforeId, limit])
        : database.query<EndpointRow>(listOfAccount, [accountId, beforeId, limit]));
      return rows.map(toEndpoint);
    },
    async find(id) {
      const [row] = await database.query<EndpointRow>(selectEndpoint, [id]);
      return row === undefined ? null : toEndpoint(row);
    },
    update: (id, { url, events, status }, at) =>
      database.transaction(async (transaction) => {
        await transaction.query(lockReceiver, [id]);
        const list = events == null ? null : toArray(events);
        const reason = status === 'disabled' ? 'Disabled by hand.' : null;
        const values = [id, url ?? null, events !== undefined, list, status ?? null, reason];
        const [row] = await transaction.query<EndpointRow>(updateEndpoint, values);
        if (row === undefined) return null;
        const endpoint = toEndpoint(row);
        if (status === 'active') await wake(transaction, endpoint, at);
        if (status === 'disabled') await transaction.query(deleteReceiver, [id]);
        return endpoint;
      }),
    delete: (id) =>
      database.transaction(async (transaction) => {
        await transaction.query(lockReceiver, [id]);
        const deleted = await transaction.query(deleteEndpoint, [id]);
        await transaction.query(deleteReceiver, [id]);
        await transaction.query(deleteDeliveries, [id]);
        return deleted.length > 0;
      }),
    test: (endpoint, noticeId, at) =>
      database.transaction(async (transaction) => {
        if ((await countSend(transaction, ratesOfAskedSend(endpoint), at)) > 0) return false;
        await transaction.query(insertTest, [noticeId, endpoint.accountId, endpoint.id, at]);
        await transaction.query(insertDelivery, [noticeId, endpoint.id, at]);
        await wake(transaction, endpoint, at);
        return true;
      }),
    redeliver: (endpoint, noticeId, at) =>
      database.transaction(async (transaction) => {
        // Each is a request to whatever the endpoint names.
        if ((await countSend(transaction, ratesOfAskedSend(endpoint), at)) > 0) return 'too_many';
        await wake(transaction, endpoint, at);
        return (await transaction.query(redeliverNotice, [noticeId, endpoint.id, at])).length > 0 ? 'queued' : 'absent';
      }),
    async listDeliveries(endpointId, beforeId, limit) {
      const rows = await database.query<DeliveryRow>(listDeliveries, [endpointId, beforeId, limit]);
      return rows.map(toDelivery);
    },
    async findLowBalance(accountId) {
      const [row] = await database.query<{ low_balance_nano: bigint | null }>(selectLowBalance, [accountId]);
      return row === undefined ? null : { lowBalanceNano: row.low_balance_nano };
    },
    setLowBalance: async (accountId, lowBalanceNano) =>
      (await database.query(updateLowBalance, [accountId, lowBalanceNano])).length > 0,
  };
}

async function insert(
  transaction: Queryable,
  { id, accountId, url, events, secret, idempotencyKey, at }: NewWebhookEndpoint,
  countMax: number,
): Promise<InsertedEndpoint> {
  await transaction.query(lockOwner, [accountId ?? '']);
  if (accountId !== null && (await transaction.query(accountExists, [accountId])).length === 0) {
    return { outcome: 'unknown_account' };
  }
  const list = events === null ? null : toArray(events);
  if (idempotencyKey !== null) {
    const [row] = await transaction.query<SecretRow>(selectKeyed, [accountId ?? '', idempotencyKey]);
    if (row !== undefined) {
      const first = toEndpoint(row);
      const isSame = first.url === url && JSON.stringify(first.events) === JSON.stringify(events);
      return isSame ? { outcome: 'repeated', endpoint: first, secret: row.secret } : { outcome: 'key_conflict' };
    }
  }
  const [count] = await transaction.query<{ n: number }>(countOwned, [accountId]);
  if (count!.n >= countMax) return { outcome: 'too_many' };
  const values = [id, accountId, url, secret, list, idempotencyKey, at];
  const [row] = await transaction.query<SecretRow>(insertEndpoint, values);
  return { outcome: 'made', endpoint: toEndpoint(row!), secret: row!.secret };
}

async function wake(transaction: Queryable, { id, accountId }: WebhookEndpoint, at: Date): Promise<void> {
  await transaction.query(wakeReceiver, [id, accountId === null ? 'operators' : 'accounts', at]);
}

interface EndpointRow {
  id: string;
  account_id: string | null;
  url: string;
  events: NoticeKind[] | null;
  status: WebhookEndpoint['status'];
  status_reason: string | null;
  failing_since: Date | null;
  created_at: Date;
}

type SecretRow = EndpointRow & { secret: string };

interface DeliveryRow {
  notice_id: string;
  kind: Notice['kind'];
  at: Date;
  status: Delivery['status'];
  attempts: bigint;
  next_attempt_at: Date | null;
  last_attempt_at: Date | null;
  last_status: bigint | null;
  last_error: string | null;
}

function toEndpoint(row: EndpointRow): WebhookEndpoint {
  return {
    id: row.id,
    accountId: row.account_id,
    url: row.url,
    events: row.events,
    status: row.status,
    statusReason: row.status_reason,
    failingSince: row.failing_since,
    createdAt: row.created_at,
  };
}

function toDelivery(row: DeliveryRow): Delivery {
  return {
    noticeId: row.notice_id,
    kind: row.kind,
    at: row.at,
    status: row.status,
    attempts: Number(row.attempts),
    nextAttemptAt: row.next_attempt_at,
    lastAttemptAt: row.last_attempt_at,
    lastStatus: row.last_status === null ? null : Number(row.last_status),
    lastError: row.last_error,
  };
}
