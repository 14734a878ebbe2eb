import type { Clock } from '../lib/clock.ts';
import type { Ids } from '../lib/ids.ts';
import type { AddressRanges } from '../lib/ip-address.ts';
import { parseTarget } from '../lib/outgoing/target.ts';
import type { EndpointChange, EndpointStore, InsertedEndpoint, Redelivery, WebhookEndpoint } from './endpoint-store.ts';
import type { NoticeKind } from './notice.ts';
import type { ThresholdStore } from './threshold-store.ts';

export const ACCOUNT_ENDPOINTS_MAX = 5;
export const OPERATOR_ENDPOINTS_MAX = 20;

const SECRET_BYTES = 32;

interface AskedEndpoint {
  readonly accountId: string | null;
  readonly url: string;
  readonly events: readonly NoticeKind[] | null;
  readonly idempotencyKey: string | null;
}

interface WebhooksDependencies {
  readonly store: EndpointStore;
  readonly thresholds: ThresholdStore;
  readonly allowed: () => AddressRanges;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly randomBytes: (size: number) => Buffer;
  readonly onQueued: () => void;
}

export type Webhooks = ReturnType<typeof createWebhooks>;

export function createWebhooks(dependencies: WebhooksDependencies) {
  const { store, thresholds, allowed, clock, ids, randomBytes, onQueued } = dependencies;
  const now = (): Date => new Date(clock.nowMs());
  return {
    ...store,
    ...thresholds,
    create: ({ accountId, url, events, idempotencyKey }: AskedEndpoint): Promise<InsertedEndpoint> => {
      const { href } = parseTarget(url, allowed());
      const id = ids.next('whk');
      const secret = `whsec_${randomBytes(SECRET_BYTES).toString('base64')}`;
      const countMax = accountId === null ? OPERATOR_ENDPOINTS_MAX : ACCOUNT_ENDPOINTS_MAX;
      return store.insert({ id, accountId, url: href, events, secret, idempotencyKey, at: now() }, countMax);
    },
    async update(id: string, change: EndpointChange): Promise<WebhookEndpoint | null> {
      const url = change.url === undefined ? undefined : parseTarget(change.url, allowed()).href;
      const endpoint = await store.update(id, { ...change, url }, now());
      if (change.status === 'active') onQueued();
      return endpoint;
    },
    /** Queues a test. Returns the id of the notice; `null` if the limit of tests is reached. */
    async test(endpoint: WebhookEndpoint): Promise<string | null> {
      const noticeId = ids.next('ntc');
      if (!(await store.test(endpoint, noticeId, now()))) return null;
      onQueued();
      return noticeId;
    },
    async redeliver(endpoint: WebhookEndpoint, noticeId: string): Promise<Redelivery> {
      const redelivery = await store.redeliver(endpoint, noticeId, now());
      if (redelivery === 'queued') onQueued();
      return redelivery;
    },
  };
}
