import { scanJson } from '../src/lib/json-scan.ts';

/**
 * Finding `model` in a body: our scan beside `JSON.parse`, on small and large chat bodies. Prints medians and the ratio.
 *
 *   node bench/json-scan.ts
 */
const ROUNDS = 15;

for (const [name, text] of [
  ['1 KiB chat', chatBody(1_000)],
  ['64 KiB chat', chatBody(64_000)],
  ['4 MiB chat', chatBody(4_000_000)],
] as const) {
  const bytes = Buffer.from(text);
  const repeats = Math.max(1, Math.floor(8_000_000 / bytes.length));
  const scanMs: number[] = [];
  const parseMs: number[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    scanMs.push(time(() => scanJson(bytes), repeats));
    parseMs.push(time(() => JSON.parse(bytes.toString('utf8')), repeats));
  }
  const scan = median(scanMs);
  const parse = median(parseMs);
  console.log(
    `${name.padEnd(12)} scan ${micro(scan)} µs, JSON.parse ${micro(parse)} µs, ratio ${(scan / parse).toFixed(2)}`,
  );
}

function chatBody(sizeBytes: number): string {
  const sentence = 'The quick brown fox jumps over the lazy dog, said "Ada", and 中文也可以. ';
  const message = { role: 'user', content: sentence.repeat(10) };
  const count = Math.max(1, Math.floor(sizeBytes / JSON.stringify(message).length));
  return JSON.stringify({ messages: Array.from({ length: count }, () => message), stream: true, model: 'some-model' });
}

function time(work: () => unknown, repeats: number): number {
  const start = process.hrtime.bigint();
  for (let i = 0; i < repeats; i++) work();
  return Number(process.hrtime.bigint() - start) / 1e6 / repeats;
}

function median(values: number[]): number {
  return values.toSorted((left, right) => left - right)[Math.floor(values.length / 2)]!;
}

function micro(ms: number): string {
  return (ms * 1_000).toFixed(1);
}
