import { Agent, request } from 'node:http';
import { type InnocentCall, LOOK } from './innocent-call.ts';
import { monotonicMs } from './monotonic.ts';
import { responseParent } from './rpc.ts';

/**
 * The innocent caller: an account that makes twenty calls per second, whatever the latency, and a signed-in person of that account whose
 * console sends two requests per second.
 */

export interface InnocentOrder {
  readonly url: string;
  readonly key: string;
  /** A script in its calls that tells the provider whom to bill. */
  readonly mark: string;
  /** It uses its own address, if the system has one. */
  readonly localAddress: string;
  /** Opens a connection for every call, as a new caller does. */
  readonly isNewcomer: boolean;
  /** Headers of the person's session at the console. */
  readonly personHeaders: Readonly<Record<string, string>>;
}

export interface Span {
  readonly fromMs: number;
  readonly toMs: number;
}

const EVERY_MS = 50;
/** The console sends a request after this many calls. */
const CALLS_A_LOOK = 10;
const LOOKS = ['/account/v1/session', '/account/v1/account', '/account/v1/keys', '/account/v1/calls?limit=20'];
const GIVEN_UP_MS = 15_000;

const prompt = [{ role: 'user', content: 'Name three kinds of apples, and say what they are good for.' }];
const chat = { path: '/v1/chat/completions', model: 'shop-chat', end: 'data: [DONE]' };
const messages = { path: '/v1/messages', model: 'shop-messages', end: 'event: message_stop' };
const KINDS = [
  { kind: 'chat', ...chat, stream: false, whole: '"usage"' },
  { kind: 'messages', ...messages, stream: false, whole: '"usage"' },
  { kind: 'chat stream', ...chat, stream: true, whole: chat.end },
  { kind: 'messages stream', ...messages, stream: true, whole: messages.end },
] as const;

function bodiesOf(mark: string): Buffer[] {
  return KINDS.map(({ kind, model, stream }) => {
    const marked = kind.startsWith('chat') ? { user: mark } : { metadata: { user_id: mark } };
    return Buffer.from(JSON.stringify({ model, ...marked, max_tokens: 100, messages: prompt, stream }));
  });
}

const calls: (InnocentCall | Promise<InnocentCall>)[] = [];
let timer: NodeJS.Timeout | null = null;

responseParent({
  start(order: InnocentOrder) {
    const agent = new Agent({ keepAlive: !order.isNewcomer, localAddress: order.localAddress });
    const bodies = bodiesOf(order.mark);
    const startedAtMs = monotonicMs();
    let made = 0;
    timer = setInterval(() => {
      // Calls that a late timer missed are sent at once, because real callers do not wait for each other.
      for (; made * EVERY_MS <= monotonicMs() - startedAtMs; made++) {
        add(make(order, agent, made % KINDS.length, bodies));
        if (made % CALLS_A_LOOK === 0) add(look(order, agent, made / CALLS_A_LOOK));
      }
    }, EVERY_MS / 5);
  },
  /** Resolves with all its calls, once the last one has ended. */
  stop() {
    if (timer !== null) clearInterval(timer);
    return Promise.all(calls);
  },
  /** The calls that began in this span, once they have ended. */
  async calls({ fromMs, toMs }: Span) {
    const ended = await Promise.all(calls);
    return ended.filter(({ startedAtMs }) => startedAtMs >= fromMs && startedAtMs < toMs);
  },
});

/** Tracks a call until it has ended, and returns its outcome. */
function add(begun: Promise<InnocentCall>): void {
  const index = calls.length;
  calls.push(
    begun.then((call) => {
      calls[index] = call;
      return call;
    }),
  );
}

function look({ url, personHeaders }: InnocentOrder, agent: Agent, index: number): Promise<InnocentCall> {
  const path = LOOKS[index % LOOKS.length]!;
  return ask(LOOK, { method: 'GET', url: url + path, agent, headers: personHeaders, whole: '{' });
}

function make(
  { url, key }: InnocentOrder,
  agent: Agent,
  index: number,
  bodies: readonly Buffer[],
): Promise<InnocentCall> {
  const { kind, path, whole } = KINDS[index]!;
  const body = bodies[index]!;
  const headers = {
    'content-type': 'application/json',
    'content-length': String(body.length),
    authorization: `Bearer ${key}`,
  };
  return ask(kind, { method: 'POST', url: url + path, agent, headers, whole, body });
}

interface Asked {
  readonly method: string;
  readonly url: string;
  readonly agent: Agent;
  readonly headers: Readonly<Record<string, string>>;
  /** A complete response contains it. */
  readonly whole: string;
  readonly body?: Buffer;
}

function ask(kind: string, { method, url, agent, headers, whole, body }: Asked): Promise<InnocentCall> {
  const startedAtMs = monotonicMs();
  return new Promise((resolve) => {
    const end = (failure: string | null): void => {
      resolve({ kind, startedAtMs, tookMs: monotonicMs() - startedAtMs, failure });
    };
    const sent = request(url, { method, agent, headers }, (response) => {
      let text = '';
      response.setEncoding('utf8');
      response.on('data', (piece: string) => {
        text += piece;
      });
      response.on('error', (error) => end(error.message));
      response.on('end', () => {
        const isWhole = response.statusCode === 200 && text.includes(whole);
        end(isWhole ? null : `${response.statusCode} ${text.slice(0, 200)}`);
      });
    });
    sent.setTimeout(GIVEN_UP_MS, () => sent.destroy(new Error(`no response in ${GIVEN_UP_MS / 1000} s`)));
    sent.on('error', (error) => end(error.message));
    sent.end(body);
  });
}
