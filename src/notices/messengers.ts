import { createHmac } from 'node:crypto';
import { TargetRefusedError } from '../lib/outgoing/target.ts';
import { failed, type SendResult } from './send-result.ts';

/**
 * This file has the formats in which group robots of messengers accept messages. Each one is described by its vendor:
 *
 * - Slack: https://docs.slack.dev/messaging/sending-messages-using-incoming-webhooks
 * - Feishu and Lark: https://open.feishu.cn/document/client-docs/bot-v3/add-custom-bot
 * - DingTalk: https://open.dingtalk.com/document/orgapp/custom-robots-send-group-messages
 * - WeCom: https://developer.work.weixin.qq.com/document/path/91770
 * - Telegram: https://core.telegram.org/bots/api#sendmessage
 */

/** `faregate`: the signed JSON of `docs/notices.md`. */
export const FORMS = ['faregate', 'slack', 'feishu', 'dingtalk', 'wecom', 'telegram'] as const;
export type Form = (typeof FORMS)[number];
export type MessengerForm = Exclude<Form, 'faregate'>;

interface Message {
  readonly url: URL;
  /** Secret with which the vendor verifies requests; empty: the robot has none. */
  readonly secret: string;
  readonly text: string;
  readonly at: Date;
}

export interface WebhookRequest {
  /** Path and query. */
  readonly path: string;
  readonly body: string;
}

export interface WebhookResponse {
  readonly status: number;
  readonly retryAfter: string | null;
  /** Beginning of the body. */
  readonly text: string;
}

interface Messenger {
  readonly name: string;
  /** Whether its robots can have a secret with which they verify requests. */
  readonly hasSecret: boolean;
  /** Time between two messages with which its rate limit is kept. */
  readonly paceMs: number;
  /** Checks what an address must contain. @throws TargetRefusedError */
  readonly check?: (url: URL) => void;
  readonly requestOf: (message: Message) => WebhookRequest;
  /** Reads the result of a response with status 2xx. Other statuses are failures for every messenger. */
  readonly read: (response: Answer) => Verdict;
}

type Answer = Readonly<Record<string, unknown>> | null;

/** The vendor's code of an error, and the time to wait if the rate limit was exceeded; `code: 0`: success. */
interface Verdict {
  readonly code: number | null;
  readonly waitMs?: number;
}

const SECOND_MS = 1_000;
const MINUTE_MS = 60 * SECOND_MS;
const WAIT_MAX_MS = 60 * MINUTE_MS;

const pathOf = ({ pathname, search }: URL): string => pathname + search;
const hmac = (key: string, text: string): string => createHmac('sha256', key).update(text).digest('base64');

export const MESSENGERS: Readonly<Record<MessengerForm, Messenger>> = {
  slack: {
    name: 'Slack',
    hasSecret: false,
    paceMs: SECOND_MS,
    // Slack reads `&` as the beginning of an entity; `<` and `>` are not in the text.
    requestOf: ({ url, text }) => ({
      path: pathOf(url),
      body: JSON.stringify({ text: text.replaceAll('&', '&amp;') }),
    }),
    // Slack answers `ok` as text; its failures have other statuses.
    read: () => ({ code: 0 }),
  },
  feishu: {
    name: 'Feishu',
    hasSecret: true,
    // 100 messages a minute, and 5 a second.
    paceMs: 650,
    requestOf({ url, secret, text, at }) {
      const timestamp = String(Math.floor(at.getTime() / 1_000));
      const signed = secret === '' ? {} : { timestamp, sign: hmac(`${timestamp}\n${secret}`, '') };
      return { path: pathOf(url), body: JSON.stringify({ ...signed, msg_type: 'text', content: { text } }) };
    },
    read: (answer) => withWait(codeOf(answer?.code ?? answer?.StatusCode), 11_232, MINUTE_MS),
  },
  dingtalk: {
    name: 'DingTalk',
    hasSecret: true,
    // 20 messages a minute. A robot that sends more is silenced for ten minutes.
    paceMs: 3_500,
    requestOf({ url, secret, text, at }) {
      const target = new URL(url);
      if (secret !== '') {
        const timestamp = String(at.getTime());
        target.searchParams.set('timestamp', timestamp);
        target.searchParams.set('sign', hmac(secret, `${timestamp}\n${secret}`));
      }
      return { path: pathOf(target), body: JSON.stringify({ msgtype: 'text', text: { content: text } }) };
    },
    read: (answer) => withWait(codeOf(answer?.errcode), 130_101, 10 * MINUTE_MS),
  },
  wecom: {
    name: 'WeCom',
    hasSecret: false,
    // 20 messages a minute.
    paceMs: 3_500,
    requestOf: ({ url, text }) => ({
      path: pathOf(url),
      body: JSON.stringify({ msgtype: 'text', text: { content: text } }),
    }),
    read: (answer) => withWait(codeOf(answer?.errcode), 45_009, MINUTE_MS),
  },
  telegram: {
    name: 'Telegram',
    hasSecret: false,
    // 20 messages a minute to a group.
    paceMs: 3_500,
    check(url) {
      if (url.pathname.endsWith('/sendMessage') && url.searchParams.has('chat_id')) return;
      throw new TargetRefusedError(
        'Expected an address such as https://api.telegram.org/bot<token>/sendMessage?chat_id=<chat>.',
      );
    },
    requestOf({ url, text }) {
      const options = Object.fromEntries(url.searchParams);
      return { path: url.pathname, body: JSON.stringify({ ...options, text }) };
    },
    read: (answer) => ({ code: answer?.ok === true ? 0 : codeOf(answer?.error_code) }),
  },
};

/** `null`: the response has no valid code. */
const codeOf = (code: unknown): number | null => (typeof code === 'number' && Number.isInteger(code) ? code : null);

const withWait = (code: number | null, limitCode: number, waitMs: number): Verdict =>
  code === limitCode ? { code, waitMs } : { code };

/** Returns the result of a response. It quotes at most the vendor's code: a text might contain the secret of the address. */
export function messengerResult(form: MessengerForm, { status, retryAfter, text }: WebhookResponse): SendResult {
  const { name, paceMs, read } = MESSENGERS[form];
  const answer = parse(text);
  const isAccepted = status >= 200 && status < 300;
  const { code, waitMs = 0 } = read(answer);
  if (isAccepted && code === 0) return { outcome: 'delivered', status, restMs: paceMs };
  const words = isAccepted && code !== null ? `code ${code}` : `status ${status}`;
  const askedMs = status === 429 ? (secondsOf(retryAfter) ?? retrySeconds(answer) ?? 60) * SECOND_MS : 0;
  const restMs = Math.max(paceMs, waitMs, Math.min(askedMs, WAIT_MAX_MS));
  // 410: the channel was archived.
  if (status === 410)
    return { ...failed(status, `${name} accepts no more messages at this address (410).`), isGone: true };
  return { ...failed(status, `${name} did not accept the message (${words}).`), restMs };
}

function parse(text: string): Answer {
  try {
    const answer: unknown = JSON.parse(text);
    return typeof answer === 'object' && answer !== null ? (answer as Answer) : null;
  } catch {
    return null;
  }
}

const secondsOf = (header: string | null): number | null =>
  header !== null && /^\d{1,6}$/.test(header) ? Number(header) : null;

/** Telegram's `parameters.retry_after`. */
function retrySeconds(answer: Answer): number | null {
  const parameters = answer?.parameters as { readonly retry_after?: unknown } | undefined;
  return codeOf(parameters?.retry_after);
}

/** Returns an address as pages, logs and lists show it: without the secret that the addresses of robots contain. */
export function shownUrl(form: Form, url: string): string {
  if (form === 'faregate') return url;
  const { origin } = new URL(url);
  return `${origin}/…${url.slice(-SHOWN_CHARACTERS)}`;
}

const SHOWN_CHARACTERS = 4;
