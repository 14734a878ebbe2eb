import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Pool } from 'undici';

/**
 * The other side of the bench, in one process: a provider that always gives the same response, and clients that call the
 * gateway as fast as it responds. Its parent says which address to call and for how long; reports how many calls succeeded.
 */
export interface LoadOrder {
  readonly url: string;
  /** Where chat completions are served, such as `/v1/chat/completions`. */
  readonly path: string;
  /** Taken in turns. */
  readonly keys: readonly string[];
  readonly connections: number;
  readonly seconds: number;
}

/** What came of an order; the time of a call is taken from its sending to the end of its response. */
export interface LoadResult {
  readonly calls: number;
  readonly failures: number;
  readonly medianMs: number;
}

const RESPONSE = Buffer.from(
  JSON.stringify({
    id: 'chatcmpl-bench',
    object: 'chat.completion',
    created: 1_790_000_000,
    model: 'bench-upstream',
    choices: [{ index: 0, message: { role: 'assistant', content: 'word '.repeat(100) }, finish_reason: 'stop' }],
    usage: { prompt_tokens: 200, completion_tokens: 100, total_tokens: 300 },
  }),
);
const REQUEST = Buffer.from(
  JSON.stringify({ model: 'bench-model', messages: [{ role: 'user', content: 'word '.repeat(200) }] }),
);

const provider = createServer((request, response) => {
  request.resume();
  request.on('end', () => {
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': RESPONSE.length });
    response.end(RESPONSE);
  });
});
provider.listen(0, '127.0.0.1', () => {
  process.send?.({ url: `http://127.0.0.1:${(provider.address() as AddressInfo).port}` });
});

process.on('message', (order: LoadOrder) => {
  void run(order).then((result) => process.send?.(result));
});
process.on('disconnect', () => process.exit(0));

async function run({ url, path, keys, connections, seconds }: LoadOrder): Promise<LoadResult> {
  const pool = new Pool(url, { connections, allowH2: false });
  const endMs = Date.now() + seconds * 1_000;
  const times: number[] = [];
  let failures = 0;
  let turn = 0;

  function once(): Promise<void> {
    return new Promise((resolve) => {
      let status = 0;
      const headers = { 'content-type': 'application/json', authorization: `Bearer ${keys[turn++ % keys.length]}` };
      const startMs = performance.now();
      pool.dispatch(
        { method: 'POST', path, headers, body: REQUEST },
        {
          onRequestStart: () => undefined,
          onResponseStart: (_controller, received) => {
            status = received;
          },
          onResponseData: () => undefined,
          onResponseEnd() {
            if (status === 200) times.push(performance.now() - startMs);
            else failures++;
            resolve();
          },
          onResponseError() {
            failures++;
            resolve();
          },
        },
      );
    });
  }
  await Promise.all(
    Array.from({ length: connections }, async () => {
      while (Date.now() < endMs) await once();
    }),
  );
  await pool.close();
  times.sort((left, right) => left - right);
  return { calls: times.length, failures, medianMs: times[Math.floor(times.length / 2)] ?? Number.NaN };
}
