import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Pool } from 'undici';

/**
 * The yardstick: a proxy that does nothing but pass on. node:http, undici dispatch, request and response parsed once each,
 * no accounts, no money. Reports its address to its parent, and replies to each message with a `MeterReading`.
 */
const upstream = new Pool(process.argv[2]!, { connections: 1024, allowH2: false });

const server = createServer((request, response) => {
  const chunks: Buffer[] = [];
  request.on('data', (chunk: Buffer) => chunks.push(chunk));
  request.on('end', () => {
    const body = Buffer.concat(chunks);
    JSON.parse(body.toString());
    const received: Buffer[] = [];
    upstream.dispatch(
      { method: 'POST', path: '/v1/chat/completions', headers: { 'content-type': 'application/json' }, body },
      {
        onRequestStart: () => undefined,
        onResponseStart: () => undefined,
        onResponseData: (_controller, chunk) => void received.push(chunk),
        onResponseEnd() {
          const bytes = Buffer.concat(received);
          JSON.parse(bytes.toString());
          response.writeHead(200, { 'content-type': 'application/json', 'content-length': bytes.length });
          response.end(bytes);
        },
        onResponseError: () => response.destroy(),
      },
    );
  });
});

server.listen(0, '127.0.0.1', () => {
  process.send?.({ url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` });
});
process.on('message', () => {
  process.send?.({ cpuMicros: cpuMicros(), rssBytes: process.memoryUsage.rss(), nextTransaction: null });
});
process.on('disconnect', () => process.exit(0));

function cpuMicros(): number {
  const { user, system } = process.cpuUsage();
  return user + system;
}
