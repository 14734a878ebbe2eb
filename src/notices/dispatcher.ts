import { setTimeout as wait } from 'node:timers/promises';
import { type BackgroundJob, createBackgroundJob } from '../lib/background-job.ts';
import type { Clock } from '../lib/clock.ts';
import type { Ids } from '../lib/ids.ts';
import type { Logger } from '../lib/logger.ts';
import {
  type AttemptRecord,
  CHANNELS,
  type Channel,
  type DeliveryStore,
  type Lease,
  type PendingDelivery,
} from './delivery-store.ts';
import type { SendMail } from './mail-sender.ts';
import { payloadOf } from './notice.ts';
import { type MessageTerms, messageText } from './notice-text.ts';
import { FAILING_MAX_MS, nextAttemptMs, receiverCooldownMs } from './schedule.ts';
import { failed, type SendResult } from './send-result.ts';
import type { SendWebhook } from './webhook-sender.ts';

/** Figures about deliveries. Except for `due`, they are those of this node. */
export interface DeliveryFigures {
  readonly delivered: number;
  readonly failed: number;
  readonly inFlight: number;
  /** Number of receivers that were due in the last round, for all nodes. */
  readonly due: number;
}

export type Dispatcher = ReturnType<typeof createDispatcher>;

interface DispatcherDependencies {
  readonly store: DeliveryStore;
  readonly sendWebhook: SendWebhook;
  readonly sendMail: () => SendMail | null;
  /** Configured language of messages, and the address of the console. */
  readonly messageTerms: () => Pick<MessageTerms, 'language' | 'consoleUrl'>;
  /** Counts a mail. Returns 0 if it can be sent, otherwise the milliseconds to wait. */
  readonly countMail: (accountId: string | null, address: string, nowMs: number) => Promise<number>;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly randomSource: () => number;
  readonly logger: Logger;
  readonly intervalMs?: number;
  readonly graceMs?: number;
}

/** How many receivers a node serves at the same time. */
const IN_FLIGHT_MAX: Readonly<Record<Channel, number>> = { operators: 8, accounts: 24, mail: 4 };
/** Duration of a lease: longer than an attempt and its database writes. */
const LEASE_MS = 60_000;
/** Number of notices after which the slot goes to another receiver. */
const BURST_NOTICES = 16;
/** After this time, no further attempt starts, so that a slow receiver occupies its slot only briefly. */
const BURST_MS = 5_000;
const INTERVAL_MS = 1_000;
const GRACE_MS = 3_000;

/** Delivers notices. A receiver is served by one node at a time, which sends its notices one by one. A slow receiver delays only itself. */
export function createDispatcher(dependencies: DispatcherDependencies) {
  const {
    store,
    sendWebhook,
    sendMail,
    messageTerms,
    countMail,
    clock,
    ids,
    randomSource,
    logger,
    intervalMs = INTERVAL_MS,
    graceMs = GRACE_MS,
  } = dependencies;
  const stopping = new AbortController();
  const serving = new Map<Promise<void>, Channel>();
  let delivered = 0;
  let failed = 0;
  let due = 0;
  let isStopping = false;

  async function claim(): Promise<void> {
    const wanted = wantedNow();
    if (CHANNELS.every((channel) => wanted[channel] === 0)) return;
    const nowMs = clock.nowMs();
    const leases = await store.claim(wanted, nowMs, ids.next('lease'), nowMs + LEASE_MS);
    for (const lease of leases) {
      const work = serve(lease)
        .catch((error) => {
          // The lease expires, and then a node sends the notice again.
          if (!isStopping)
            logger.warn({ err: error }, 'failed to record the result of a delivery; the notice will be sent again');
        })
        .finally(() => {
          serving.delete(work);
          job.wake();
        });
      serving.set(work, lease.channel);
    }
    due = leases.length === 0 ? 0 : await store.countDue(nowMs);
  }

  function wantedNow(): Record<Channel, number> {
    const busy = [...serving.values()];
    const room = (channel: Channel): number => {
      if (isStopping || (channel === 'mail' && sendMail() === null)) return 0;
      return Math.max(0, IN_FLIGHT_MAX[channel] - busy.filter((each) => each === channel).length);
    };
    return { operators: room('operators'), accounts: room('accounts'), mail: room('mail') };
  }

  async function serve(lease: Lease): Promise<void> {
    const begunMs = clock.nowMs();
    let restsUntilMs = 0;
    for (let sent = 0; sent < BURST_NOTICES && !isStopping; sent++) {
      if (clock.nowMs() - begunMs >= BURST_MS) break;
      const pending = await store.next(lease, clock.nowMs());
      if (pending === null) break;
      restsUntilMs = pending.endpoint?.restsUntilMs ?? 0;
      if (restsUntilMs > clock.nowMs()) break;
      const result = await send(lease, pending);
      if (result === null) break;
      if (result.outcome === 'delivered') delivered++;
      else failed++;
      if (result.outcome === 'failed') {
        const { status, error: reason } = result;
        logger.info(
          { notice: pending.notice.id, receiver: shown(lease), status, reason },
          'delivery of a notice failed',
        );
      }
      const attempt = recordOf(pending, result);
      restsUntilMs = attempt.restsUntilMs ?? 0;
      if (!(await store.record(lease, attempt)) || restsUntilMs > 0) break;
    }
    await store.release(lease, clock.nowMs(), restsUntilMs, receiverCooldownMs);
  }

  /** Sends a notice; `null` if the node is stopping and the result of the attempt is unknown. */
  async function send({ receiver, channel }: Lease, pending: PendingDelivery): Promise<SendResult | null> {
    const { notice, endpoint } = pending;
    try {
      if (channel === 'mail') {
        const mail = sendMail();
        if (mail === null) return null;
        const to = receiver.slice('mail:'.length);
        if ((await countMail(notice.accountId, to, clock.nowMs())) > 0) return TOO_MANY_MAILS;
        return await mail({ notice, to }, stopping.signal);
      }
      if (endpoint === null) return NO_ENDPOINT;
      const { form, url, secret } = endpoint;
      const payload = form === 'faregate' ? payloadOf(notice) : messageOf(channel, pending);
      const at = new Date(clock.nowMs());
      return await sendWebhook({ noticeId: notice.id, form, url, secret, payload, at }, stopping.signal);
    } catch (error) {
      if (stopping.signal.aborted) return null;
      throw error;
    }
  }

  function messageOf(channel: Channel, { notice, endpoint, accountName }: PendingDelivery): string {
    const { language, consoleUrl } = messageTerms();
    const isForOperators = channel === 'operators';
    return messageText(notice, { language: endpoint?.language ?? language, consoleUrl, isForOperators, accountName });
  }

  function recordOf({ notice, attempts }: PendingDelivery, result: SendResult): AttemptRecord {
    const nowMs = clock.nowMs();
    const isDelivered = result.outcome === 'delivered';
    const nextAttemptAtMs = isDelivered || result.isFinal ? null : nextAttemptMs(attempts + 1, nowMs, randomSource());
    return {
      noticeId: notice.id,
      status: isDelivered ? 'delivered' : nextAttemptAtMs === null ? 'failed' : 'pending',
      nextAttemptAtMs,
      lastStatus: result.status,
      lastError: isDelivered ? null : result.error,
      atMs: nowMs,
      leasedUntilMs: nowMs + LEASE_MS,
      restsUntilMs: result.restMs === undefined ? null : nowMs + result.restMs,
      goneReason: !isDelivered && result.isGone ? result.error : null,
      failingLimit: { sinceMs: nowMs - FAILING_MAX_MS, reason: 'All attempts failed for three days.' },
    };
  }

  const job: BackgroundJob = createBackgroundJob({
    intervalMs,
    run: claim,
    logger,
    failing: 'failed to send notices; retrying (calls are not affected)',
    recovered: 'sending notices works again',
  });

  return {
    get figures(): DeliveryFigures {
      return { delivered, failed, inFlight: serving.size, due };
    },
    start: job.start,
    wake: job.wake,
    async settle(): Promise<void> {
      do {
        await job.round();
        await Promise.all(serving.keys());
      } while (due > 0);
    },
    /** Waits briefly for attempts in flight, then aborts them. Aborted attempts do not count. */
    async stop(): Promise<void> {
      isStopping = true;
      await job.stop();
      const ended = Promise.all(serving.keys());
      await Promise.race([ended, wait(graceMs, undefined, { ref: false })]);
      stopping.abort(new Error('the node is stopping'));
      await ended;
    },
  };
}

const TOO_MANY_MAILS = failed(null, 'Too many mails were sent to this address or for this account.');

const NO_ENDPOINT: SendResult = { ...failed(null, 'The endpoint was deleted.'), isFinal: true };

/** Describes a receiver for the log, without an e-mail address. */
function shown({ receiver, channel }: Lease): string {
  return channel === 'mail' ? 'mail' : receiver;
}
