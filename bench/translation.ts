import { setTimeout } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { ShownModel } from '../src/calls/relay/shown-model.ts';
import { createRequestWorkers } from '../src/calls/request-workers.ts';
import type { Tenant } from '../src/lib/fair/shares.ts';
import { readChatStream } from '../src/protocols/chat/stream.ts';
import { StreamTap, type TapOutput } from '../src/protocols/metering/tap.ts';
import { messages } from '../src/protocols/operations/messages.ts';
import { PLAIN_CHAT } from '../src/protocols/translation/dialect.ts';
import type { ClientFormName } from '../src/protocols/translation/pairs.ts';
import { TranslatedStream } from '../src/protocols/translation/translated-answer.ts';
import { translateRequest } from '../src/protocols/translation/translated-request.ts';

/**
 * Measures what translation costs the serving thread: time for an event of a chat stream that is relayed, for one in which the name of the
 * model is replaced, and for one that is translated to messages or responses, in one run; the time to translate a request with a long
 * conversation; and how long a large one occupies the serving thread, compared with reading it.
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

/** CPU time of this thread: other load of the machine does not count. */
function cpuNs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) * 1_000;
}

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
  const startedNs = cpuNs();
  for (let i = 0; i < EVENTS; i++) tap.push(EVENT);
  const ns = (cpuNs() - startedNs) / EVENTS;
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
    callIds: [],
    reportsUsage: true,
    textBytes: 0,
  } as const;
  const stream = new TranslatedStream(facts, { callId: 'c', startedAtMs: 0 });
  return (bytes) => stream.push(bytes);
}

function requestBody(sizeBytes: number): Buffer {
  const text = 'All happy families are alike; each unhappy family is "unhappy" in its own way.\n'.repeat(50);
  const turns = Math.ceil(sizeBytes / text.length);
  const turnsOf = Array.from({ length: turns }, (_, i) => ({
    role: i % 2 === 0 ? 'user' : 'assistant',
    content: text,
  }));
  const last = { role: 'user', content: 'And then?' };
  return Buffer.from(JSON.stringify({ model: 'm', max_tokens: 100, messages: [...turnsOf, last] }));
}

function requestMs(sizeBytes: number): number {
  const body = requestBody(sizeBytes);
  const startedNs = cpuNs();
  translateRequest(
    { client: 'messages', body, model: 'm' },
    { form: 'chat', dialect: PLAIN_CHAT, maker: 'AAAAAAAAAAA', outputTokensMax: null },
  );
  return (cpuNs() - startedNs) / 1e6;
}

const workers = createRequestWorkers();
const alone: Tenant = { accountId: 'a', isOnlyAccount: true };
const BODIES = 20;

/**
 * Milliseconds that the event loop is busy while other threads read or translate a body. It is the lower quartile over several bodies, because
 * other processes interrupt the loop.
 */
async function busyMs(work: (body: Buffer) => Promise<unknown> | object, sizeBytes: number): Promise<number> {
  const busy: number[] = [];
  for (let i = 0; i < BODIES; i++) {
    const body = requestBody(sizeBytes);
    // The time of this turn counts only from here on.
    await setTimeout(1);
    const before = performance.eventLoopUtilization();
    await work(body);
    busy.push(performance.eventLoopUtilization(before).active);
  }
  return busy.toSorted((a, b) => a - b)[BODIES / 4]!;
}

const ASKED = { client: 'messages', model: 'm', providerModel: 'upstream' } as const;
const TARGET = { form: 'chat', dialect: PLAIN_CHAT, maker: 'AAAAAAAAAAA', outputTokensMax: null } as const;

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
  const shown = new ShownModel('acme-large');
  note(
    'with another model name',
    streamNs((bytes) => shown.write(bytes)),
  );
  note('to messages', streamNs(translated('messages')));
  note('to responses', streamNs(translated('responses')));
  note('request of 16 KiB', requestMs(16 * 1024));
  note('request of 1 MiB', requestMs(2 ** 20));
  note('reading 1 MiB', await busyMs((body) => workers.read(messages, body, alone), 2 ** 20));
  note('translating 1 MiB', await busyMs((body) => workers.translate(ASKED, body, TARGET, alone), 2 ** 20));
}
const relayed = median(figures.get('relayed')!);
console.log(`An event of ${EVENT.length} bytes, median of ${ROUNDS} rounds of ${EVENTS} events:`);
for (const name of ['relayed', 'with another model name', 'to messages', 'to responses']) {
  const ns = median(figures.get(name)!);
  console.log(
    `  ${name}: ${(ns / 1000).toFixed(2)} µs, ${(ns / relayed).toFixed(2)} of relayed (in this thread, without sockets)`,
  );
}
for (const name of ['request of 16 KiB', 'request of 1 MiB']) {
  console.log(`  ${name}: ${median(figures.get(name)!).toFixed(2)} ms in the thread that translates`);
}
for (const name of ['reading 1 MiB', 'translating 1 MiB']) {
  console.log(`  ${name}: ${median(figures.get(name)!).toFixed(2)} ms in the serving thread`);
}
await workers.close();
