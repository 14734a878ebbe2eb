import { once } from 'node:events';
import { Agent, get } from 'node:http';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { LISTENING, withGateway } from '../scripts/started-demo.ts';
import { tokenSamples } from '../scripts/token-samples.ts';
import { createRequestWorkers } from '../src/calls/request-workers.ts';
import { seededRandom } from '../src/lib/seeded-random.ts';
import { quantile } from './quantile.ts';

/**
 * Speed of token estimates for mixed text (English, Chinese, source code, numbers, JSON; no sentence twice in a row), in elapsed time and
 * CPU, and how long the serving thread is blocked during estimates of large bodies: event loop delay without estimates, while the first
 * one starts the worker, and during consecutive 4 MiB bodies. Then the same through a real gateway: the latency of another request
 * meanwhile, including reading and checking the bodies.
 *
 *   node bench/token-estimate.ts [seconds of each phase]
 */
const PHASE_MS = Number(process.argv[2] ?? 10) * 1_000;
const BODY_BYTES = 4 * 2 ** 20;

/** Posts bodies one after another until it receives a message; reports the first one, and finally the number of others. */
const POSTER = `
  const { parentPort, workerData: { url, key, body } } = require('node:worker_threads');
  let isOver = false;
  let count = 0;
  parentPort.on('message', () => { isOver = true; });
  (async () => {
    while (!isOver) {
      const headers = { 'x-api-key': key, 'content-type': 'application/json' };
      const response = await fetch(url + '/v1/messages/count_tokens', { method: 'POST', headers, body });
      if (response.status !== 200) throw new Error(await response.text());
      await response.text();
      count++;
      if (count === 1) parentPort.postMessage(1);
      await new Promise((resolve) => setImmediate(resolve));
    }
    parentPort.postMessage(count - 1);
  })();
`;

const estimator = createRequestWorkers();
const alone = { accountId: 'bench', isOnlyAccount: true };
const small = messagesBody(1_000);
const large = messagesBody(BODY_BYTES);
const mixed = mixedBody(BODY_BYTES);

await report('idle', () => sleep(PHASE_MS));
await report('first estimate, small', async () => {
  const start = performance.now();
  await estimator.count('messages', small, alone);
  console.log(`first estimate ${(performance.now() - start).toFixed(0)} ms, with the start of the worker`);
});
await report('small back to back', () => estimateFor(small, PHASE_MS));
await report('4 MiB back to back', () => estimateFor(large, PHASE_MS));
await report('4 MiB of mixed text', () => estimateFor(mixed, PHASE_MS));
await report('idle again', () => sleep(PHASE_MS));
await estimator.close();
await throughGateway();

async function estimateFor(body: Buffer, durationMs: number): Promise<void> {
  const end = performance.now() + durationMs;
  let bodies = 0;
  const start = performance.now();
  const cpu = process.cpuUsage();
  while (performance.now() < end) {
    await estimator.count('messages', body, alone);
    bodies++;
  }
  const tookMs = performance.now() - start;
  const { user, system } = process.cpuUsage(cpu);
  const megabytes = (bodies * body.length) / 1e6;
  const rates = [megabytes / (tookMs / 1e3), megabytes / ((user + system) / 1e6)].map((rate) => rate.toFixed(1));
  console.log(
    `${bodies} bodies of ${body.length} bytes, ${(tookMs / bodies).toFixed(2)} ms each: ${rates[0]} MB/s, ${rates[1]} MB a CPU second`,
  );
}

/** The histogram has a resolution of 1 ms, so an idle loop shows slightly more. */
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

/** Messages of all kinds in rotation, each some hundred characters from anywhere in its sample. */
function mixedBody(sizeBytes: number): Buffer {
  const random = seededRandom(1);
  const below = (limit: number): number => Math.floor(random() * limit);
  const samples = tokenSamples();
  const texts = ['English', 'Chinese', 'Source code', 'JSON'].map((kind) => {
    const { text } = samples.find((sample) => sample.kind === kind)!;
    return () => text.slice(below(text.length / 2)).slice(0, 400);
  });
  const numbers = (): string => Array.from({ length: 40 }, () => below(1e9)).join(' ');
  const kinds = [...texts, numbers];
  const messages: { readonly role: string; readonly content: string }[] = [];
  for (let bytes = 0; bytes < sizeBytes; ) {
    const content = kinds[messages.length % kinds.length]!();
    messages.push({ role: 'user', content });
    bytes += Buffer.byteLength(content) + 30;
  }
  return Buffer.from(JSON.stringify({ model: 'some-model', messages }));
}

/** Small consecutive requests to a gateway, with and without concurrent 4 MiB bodies. */
function throughGateway(): Promise<void> {
  return withGateway({ LOG_LEVEL: 'error' }, async (printed) => {
    const url = (await printed(LISTENING))[1]!;
    const [, key] = await printed(/API key +(\S+)\n/);
    await latencies('without other load', url);
    // In a thread, so that sending the bodies does not delay the measurement.
    const poster = new Worker(POSTER, { eval: true, workerData: { url, key, body: large } });
    const [posted] = await once(poster, 'message');
    await latencies('during 4 MiB bodies', url);
    poster.postMessage('stop');
    const [count] = await once(poster, 'message');
    console.log(`${Number(posted) + Number(count)} bodies were estimated during that time`);
    await poster.terminate();
  });
}

/** Latency of `GET /healthz` on one connection. */
async function latencies(name: string, url: string): Promise<void> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const taken: number[] = [];
  const end = performance.now() + PHASE_MS;
  while (performance.now() < end) {
    const start = performance.now();
    await new Promise<void>((resolve, reject) => {
      get(`${url}/healthz`, { agent }, (response) => response.resume().on('end', resolve)).on('error', reject);
    });
    taken.push(performance.now() - start);
    await sleep(2);
  }
  agent.destroy();
  const [p50, p99, max] = [0.5, 0.99, 1].map((share) => quantile(taken, share).toFixed(2));
  console.log(`${name.padEnd(24)} another request takes p50 ${p50} ms, p99 ${p99} ms, max ${max} ms`);
}
