import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type Dispatcher, Pool } from 'undici';

/**
 * The baseline: a proxy that only forwards. It uses node:http and undici's dispatch, parses the JSON of requests and responses once, and
 * forwards event streams and forms unread. It has no accounts and no charges. Reports its address to its parent.
 */
const upstream = new Pool(process.argv[2]!, { connections: 4096, allowH2: false });

const server = createServer((request, response) => {
  const type = request.headers['content-type'];
  const chunks: Buffer[] = [];
  request.on('data', (chunk: Buffer) => chunks.push(chunk));
  request.on('end', () => {
    const body = Buffer.concat(chunks);
    if (type === 'application/json') JSON.parse(body.toString());
    const headers = type === undefined ? {} : { 'content-type': type };
    const method = request.method as Dispatcher.HttpMethod;
    const sent = body.length === 0 ? null : body;
    upstream.dispatch({ method, path: request.url!, headers, body: sent, bodyTimeout: 0 }, passOn(response));
  });
});

function passOn(response: ServerResponse): Dispatcher.DispatchHandler {
  const received: Buffer[] = [];
  let isStream = false;
  return {
    onRequestStart: () => undefined,
    onResponseStart(_controller, status, headers) {
      isStream = headers['content-type'] === 'text/event-stream';
      if (isStream) response.writeHead(status, { 'content-type': 'text/event-stream' });
    },
    onResponseData(_controller, chunk) {
      if (isStream) response.write(chunk);
      else received.push(chunk);
    },
    onResponseEnd() {
      if (isStream) return void response.end();
      const bytes = Buffer.concat(received);
      JSON.parse(bytes.toString());
      response.writeHead(200, { 'content-type': 'application/json', 'content-length': bytes.length });
      response.end(bytes);
    },
    onResponseError: () => void response.destroy(),
  };
}

server.listen(0, '127.0.0.1', () => {
  process.send?.({ url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` });
});
