import { monitorEventLoopDelay } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { createTokenEstimator } from '../src/tokens/estimator.ts';

/**
 * How long the thread that serves calls is held while large bodies are estimated back to back: the event loop's delay
 * without any estimate, while the first one starts the worker, and while 4 MiB bodies follow one another.
 *
 *   node bench/token-estimate.ts [seconds of each phase]
 */
const PHASE_MS = Number(process.argv[2] ?? 10) * 1_000;
const BODY_BYTES = 4 * 2 ** 20;

const estimator = createTokenEstimator();
const small = messagesBody(1_000);
const large = messagesBody(BODY_BYTES);

await report('idle', () => sleep(PHASE_MS));
await report('first estimate, small', async () => {
  const start = performance.now();
  await estimator.count('messages', small);
  console.log(`first estimate ${(performance.now() - start).toFixed(0)} ms, with the start of the worker`);
});
await report('small back to back', () => estimateFor(small, PHASE_MS));
await report('4 MiB back to back', () => estimateFor(large, PHASE_MS));
await report('idle again', () => sleep(PHASE_MS));
await estimator.close();

async function estimateFor(body: Buffer, durationMs: number): Promise<void> {
  const end = performance.now() + durationMs;
  let bodies = 0;
  const start = performance.now();
  while (performance.now() < end) {
    await estimator.count('messages', body);
    bodies++;
  }
  const eachMs = (performance.now() - start) / bodies;
  console.log(`${bodies} bodies of ${body.length} bytes, ${eachMs.toFixed(2)} ms each`);
}

/** The histogram has a resolution of 1 ms, so an idle loop shows a little more than that. */
async function report(name: string, work: () => Promise<unknown>): Promise<void> {
  const delay = monitorEventLoopDelay({ resolution: 1 });
  delay.enable();
  await work();
  delay.disable();
  const [p50, p99, max] = [delay.percentile(50), delay.percentile(99), delay.max].map((ns) => (ns / 1e6).toFixed(2));
  console.log(`${name.padEnd(24)} event loop delay p50 ${p50} ms, p99 ${p99} ms, max ${max} ms`);
}

function messagesBody(sizeBytes: number): Buffer {
  const sentence = 'The quick brown fox jumps over the lazy dog, said "Ada", and 中文也可以. const x = [1, 2, 3];\n';
  const message = { role: 'user', content: sentence.repeat(10) };
  const count = Math.max(1, Math.floor(sizeBytes / JSON.stringify(message).length));
  return Buffer.from(JSON.stringify({ model: 'some-model', messages: Array.from({ length: count }, () => message) }));
}
