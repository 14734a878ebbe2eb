import { JsonCapture } from '../src/lib/json/json-capture.ts';
import { scanJson } from '../src/lib/json/json-scan.ts';
import { median } from './quantile.ts';

/**
 * The cost of reading JSON that is forwarded unchanged: `scanJson`, which gets the complete text, and `JsonCapture`, which gets it in one
 * chunk or in chunks of 64 KiB, compared with `JSON.parse`. Prints medians, in microseconds and as shares of `JSON.parse`.
 *
 *   node bench/json-scan.ts
 */
const ROUNDS = 15;
const CHUNK_BYTES = 64 * 1024;
const MIB = 1024 * 1024;

const readers: readonly (readonly [name: string, read: (bytes: Buffer) => unknown])[] = [
  ['JSON.parse', (bytes) => JSON.parse(bytes.toString('utf8'))],
  ['scanJson', (bytes) => scanJson(bytes)],
  ['JsonCapture', (bytes) => capture(bytes, bytes.length)],
  ['... in 64 KiB', (bytes) => capture(bytes, CHUNK_BYTES)],
];

console.log(''.padEnd(20) + readers.map(([name]) => name.padStart(22)).join(''));
for (const [name, text] of [
  ['1 KiB chat', () => chatBody(1_000)],
  ['64 KiB chat', () => chatBody(64_000)],
  ['4 MiB chat', () => chatBody(4_000_000)],
  ['4 KiB response', chatResponse],
  ['16 MiB vectors', vectors],
  ['16 MiB base64', images],
] as const) {
  const bytes = Buffer.from(text());
  const repeats = Math.max(1, Math.floor(8_000_000 / bytes.length));
  const times = readers.map((): number[] => []);
  for (let round = 0; round < ROUNDS; round++) {
    for (const [i, [, read]] of readers.entries()) times[i]!.push(time(() => read(bytes), repeats));
  }
  const medians = times.map((each) => median(each)!);
  const columns = medians.map((ms) => `${micro(ms)} (${(ms / medians[0]!).toFixed(2)})`.padStart(22));
  console.log(name.padEnd(20) + columns.join(''));
}

function capture(bytes: Buffer, chunkBytes: number): Buffer | undefined {
  const reader = new JsonCapture({ keep: ['id', 'usage'], count: ['data'], keptBytesMax: 64 * 1024 });
  for (let at = 0; at < bytes.length; at += chunkBytes) reader.push(bytes.subarray(at, at + chunkBytes));
  reader.end();
  return reader.value('usage');
}

function chatBody(sizeBytes: number): string {
  const sentence = 'The quick brown fox jumps over the lazy dog, said "Ada", and 中文也可以. ';
  const message = { role: 'user', content: sentence.repeat(10) };
  const count = Math.max(1, Math.floor(sizeBytes / JSON.stringify(message).length));
  return JSON.stringify({ messages: Array.from({ length: count }, () => message), stream: true, model: 'some-model' });
}

function chatResponse(): string {
  const content = 'A list:\n\n- one thing, "quoted"\n- another one, `code`\n\nAnd 中文也可以.\n'.repeat(50);
  const choice = { index: 0, message: { role: 'assistant', content, refusal: null }, finish_reason: 'stop' };
  const usage = { prompt_tokens: 1_234, completion_tokens: 987, total_tokens: 2_221 };
  return JSON.stringify({ id: 'chatcmpl-1', object: 'chat.completion', created: 1, choices: [choice], usage });
}

/** Embeddings as numbers, of 1,536 dimensions. */
function vectors(): string {
  const embedding = Array.from({ length: 1_536 }, (_, i) => Math.sin(i + 1) / 25);
  const item = { object: 'embedding', index: 0, embedding };
  return list(item, Math.ceil((16 * MIB) / JSON.stringify(item).length));
}

/** Images of 2 MiB in base64. */
function images(): string {
  const bytes = Buffer.from(Array.from({ length: 3 * 512 }, (_, i) => (i * i) % 251));
  return list({ b64_json: bytes.toString('base64').repeat(1_024) }, 8);
}

function list(item: object, count: number): string {
  return JSON.stringify({ id: 'list-1', data: Array(count).fill(item), usage: { total_tokens: 123_456 } });
}

function time(work: () => unknown, repeats: number): number {
  const start = process.hrtime.bigint();
  for (let i = 0; i < repeats; i++) work();
  return Number(process.hrtime.bigint() - start) / 1e6 / repeats;
}

function micro(ms: number): string {
  return (ms * 1_000).toFixed(1);
}
