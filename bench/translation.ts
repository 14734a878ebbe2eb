import { parseArgs } from 'node:util';
import { readChatStream } from '../src/protocols/chat/stream.ts';
import { StreamTap, type TapOutput } from '../src/protocols/metering/tap.ts';
import { PLAIN_CHAT } from '../src/protocols/translation/dialect.ts';
import type { ClientFormName } from '../src/protocols/translation/pairs.ts';
import { TranslatedStream } from '../src/protocols/translation/translated-answer.ts';
import { translateRequest } from '../src/protocols/translation/translated-request.ts';

/**
 * Measures what translation costs the serving thread: time for an event of a chat stream that is relayed, and for one that is translated to
 * messages or responses, in one run; and the time to translate a request with a long conversation.
 *
 *   node bench/translation.ts [--events 20000] [--rounds 7]
 */
const { values } = parseArgs({
  options: { events: { type: 'string', default: '20000' }, rounds: { type: 'string', default: '7' } },
});
const EVENTS = Number(values.events);
const ROUNDS = Number(values.rounds);

const chunk = (delta: object, finish: string | null): Buffer =>
  Buffer.from(
    `data: ${JSON.stringify({
      id: 'chatcmpl-AbCdEfGhIjKlMnOpQrStUvWxYz01',
      object: 'chat.completion.chunk',
      created: 1_790_000_000,
      model: 'acme-large-2026-10-01',
      service_tier: 'default',
      system_fingerprint: 'fp_0123456789',
      choices: [{ index: 0, delta, logprobs: null, finish_reason: finish }],
    })}\n\n`,
  );
const EVENT = chunk({ content: ' some words' }, null);
const options = { dropsUsageChunk: true, choices: 1, offersTools: false, outputTokensMax: 64_000 };

/** Reads a stream, one event at a time, and passes each one to `forward`. Returns nanoseconds for each event. */
function streamNs(forward: (bytes: Buffer) => unknown): number {
  let sizeBytes = 0;
  const output: TapOutput = {
    forward(bytes) {
      sizeBytes += (forward(bytes) as Buffer).length;
    },
    forwardError: () => undefined,
    finish: () => undefined,
    finishError: () => undefined,
  };
  const tap = new StreamTap(readChatStream(options), output);
  const startedNs = process.hrtime.bigint();
  for (let i = 0; i < EVENTS; i++) tap.push(EVENT);
  const ns = Number(process.hrtime.bigint() - startedNs) / EVENTS;
  if (sizeBytes === 0) throw new Error('nothing was forwarded');
  return ns;
}

function translated(client: ClientFormName): (bytes: Buffer) => Buffer {
  const facts = {
    client,
    provider: 'chat',
    maker: 'AAAAAAAAAAA',
    model: 'm',
    tools: [],
    showsReasoning: true,
    reportsUsage: true,
    bodyBytes: 0,
  } as const;
  const stream = new TranslatedStream(facts, { callId: 'c', startedAtMs: 0 });
  return (bytes) => stream.push(bytes);
}

function requestMs(sizeBytes: number): number {
  const text = 'All happy families are alike; each unhappy family is "unhappy" in its own way.\n'.repeat(50);
  const turns = Math.ceil(sizeBytes / text.length);
  const messages = Array.from({ length: turns }, (_, i) => ({
    role: i % 2 === 0 ? 'user' : 'assistant',
    content: text,
  }));
  const last = { role: 'user', content: 'And then?' };
  const body = Buffer.from(JSON.stringify({ model: 'm', max_tokens: 100, messages: [...messages, last] }));
  const startedNs = process.hrtime.bigint();
  translateRequest(
    { client: 'messages', body, model: 'm' },
    { form: 'chat', dialect: PLAIN_CHAT, maker: 'AAAAAAAAAAA', outputTokensMax: null },
  );
  return Number(process.hrtime.bigint() - startedNs) / 1e6;
}

const median = (figures: readonly number[]): number =>
  figures.toSorted((a, b) => a - b)[Math.floor(figures.length / 2)]!;

const figures = new Map<string, number[]>();
const note = (name: string, figure: number): void => {
  figures.set(name, [...(figures.get(name) ?? []), figure]);
};
for (let round = 0; round < ROUNDS; round++) {
  note(
    'relayed',
    streamNs((bytes) => bytes),
  );
  note('to messages', streamNs(translated('messages')));
  note('to responses', streamNs(translated('responses')));
  note('request of 16 KiB', requestMs(16 * 1024));
  note('request of 1 MiB', requestMs(2 ** 20));
}
const relayed = median(figures.get('relayed')!);
console.log(`An event of ${EVENT.length} bytes, median of ${ROUNDS} rounds of ${EVENTS} events:`);
for (const name of ['relayed', 'to messages', 'to responses']) {
  const ns = median(figures.get(name)!);
  console.log(
    `  ${name}: ${(ns / 1000).toFixed(2)} µs, ${(ns / relayed).toFixed(2)} of relayed (in this thread, without sockets)`,
  );
}
for (const name of ['request of 16 KiB', 'request of 1 MiB']) {
  console.log(`  ${name}: ${median(figures.get(name)!).toFixed(2)} ms`);
}
