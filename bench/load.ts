import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Pool } from 'undici';

/**
 * The other side of the bench, in one process: a provider that always gives the same answer, and clients that call the
 * gateway as fast as it answers. Told by its parent whom to call and for how long; reports how many calls succeeded.
 */
export interface LoadOrder {
  readonly url: string;
  readonly key: string;
  readonly connections: number;
  readonly seconds: number;
}

const ANSWER = Buffer.from(
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
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': ANSWER.length });
    response.end(ANSWER);
  });
});
provider.listen(0, '127.0.0.1', () => {
  process.send?.({ url: `http://127.0.0.1:${(provider.address() as AddressInfo).port}` });
});

process.on('message', (order: LoadOrder) => {
  void run(order).then((result) => process.send?.(result));
});
process.on('disconnect', () => process.exit(0));

async function run({ url, key, connections, seconds }: LoadOrder): Promise<{ calls: number; failures: number }> {
  const pool = new Pool(url, { connections, allowH2: false });
  const endMs = Date.now() + seconds * 1_000;
  let calls = 0;
  let failures = 0;
  const headers = { 'content-type': 'application/json', authorization: `Bearer ${key}` };

  function once(): Promise<void> {
    return new Promise((resolve) => {
      let status = 0;
      pool.dispatch(
        { method: 'POST', path: '/v1/chat/completions', headers, body: REQUEST },
        {
          onRequestStart: () => undefined,
          onResponseStart: (_controller, received) => {
            status = received;
          },
          onResponseData: () => undefined,
          onResponseEnd() {
            if (status === 200) calls++;
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
  return { calls, failures };
}
