import { quantile } from './quantile.ts';

/** Calls at a constant rate, whatever the outcome of earlier ones, and their latencies: for benches of faults. */

const CALLS = 100;
const EVERY_MS = 20;

export interface Waited {
  /** 0: no response. */
  readonly status: number;
  readonly ms: number;
}

export async function send(url: string, key: string, model = 'bench-model'): Promise<Waited> {
  const startMs = performance.now();
  const status = await fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${key}` },
    body: JSON.stringify({ model, messages: [{ role: 'user', content: 'word' }] }),
  })
    .then((response) => response.arrayBuffer().then(() => response.status))
    .catch(() => 0);
  return { status, ms: performance.now() - startMs };
}

/** 100 calls, 50 per second, rotating through the keys. */
export async function sendAll(url: string, keys: readonly string[]): Promise<Waited[]> {
  const sent: Promise<Waited>[] = [];
  for (let i = 0; i < CALLS; i++) {
    sent.push(send(url, keys[i % keys.length]!));
    await new Promise((wait) => setTimeout(wait, EVERY_MS));
  }
  return Promise.all(sent);
}

/** Prints a line: counts by status, and median and maximum latency. */
export function report(what: string, all: readonly Waited[]): void {
  const times = all.map(({ ms }) => ms);
  const statuses = Object.entries(Object.groupBy(all, ({ status }) => status)).map(
    ([status, some]) => `${some!.length} × ${status}`,
  );
  const [median, most] = [0.5, 1].map((share) => quantile(times, share).toFixed(0));
  console.log(`${what}: ${statuses.join(', ')}; median ${median} ms, most ${most} ms`);
}
