import type { Clock } from '../lib/clock.ts';
import type { Ids } from '../lib/ids.ts';
import type { AddressRanges } from '../lib/ip-address.ts';
import { parseTarget } from '../lib/outgoing/target.ts';
import type { EndpointChange, EndpointStore, InsertedEndpoint, Redelivery, WebhookEndpoint } from './endpoint-store.ts';
import { type Form, MESSENGERS } from './messengers.ts';
import type { NoticeKind } from './notice.ts';
import type { NoticeLanguage } from './notice-words.ts';
import type { ThresholdStore } from './threshold-store.ts';

export const ACCOUNT_ENDPOINTS_MAX = 5;
export const OPERATOR_ENDPOINTS_MAX = 20;

const SECRET_BYTES = 32;

interface AskedEndpoint {
  readonly accountId: string | null;
  readonly url: string;
  readonly form: Form;
  /** Secret of a messenger's robot; `null`: it has none, or the form has a generated secret. */
  readonly secret: string | null;
  readonly language: NoticeLanguage | null;
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

  /** @throws TargetRefusedError */
  function checkedUrl(form: Form, text: string): string {
    const url = parseTarget(text, allowed());
    if (form !== 'faregate') MESSENGERS[form].check?.(url);
    return url.href;
  }

  return {
    ...store,
    ...thresholds,
    create: ({ url, secret: given, ...asked }: AskedEndpoint): Promise<InsertedEndpoint> => {
      const href = checkedUrl(asked.form, url);
      const id = ids.next('whk');
      const secret =
        asked.form === 'faregate' ? `whsec_${randomBytes(SECRET_BYTES).toString('base64')}` : (given ?? '');
      const countMax = asked.accountId === null ? OPERATOR_ENDPOINTS_MAX : ACCOUNT_ENDPOINTS_MAX;
      return store.insert({ ...asked, id, url: href, secret, at: now() }, countMax);
    },
    async update(id: string, form: Form, change: EndpointChange): Promise<WebhookEndpoint | null> {
      const url = change.url === undefined ? undefined : checkedUrl(form, change.url);
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
