import { createServer, type IncomingMessage } from 'node:http';
import { connect } from 'node:net';
import type { Duplex } from 'node:stream';
import { listenOnLoopback } from './loopback.ts';

/** A proxy that opens tunnels, or behaves as a test decides. */
export interface HttpProxy {
  /** Without credentials: `127.0.0.1:<port>`. */
  readonly host: string;
  /** All requests, such as `CONNECT 127.0.0.1:443`. */
  readonly asked: string[];
  /** The values of `proxy-authorization`, by request. */
  readonly authorizations: (string | undefined)[];
  /** Replaces the tunnel. */
  response: ((client: Duplex) => void) | null;
  close(): Promise<void>;
}

export async function startHttpProxy(): Promise<HttpProxy> {
  const note = (request: IncomingMessage): void => {
    self.asked.push(`${request.method} ${request.url}`);
    self.authorizations.push(request.headers['proxy-authorization']);
  };
  const server = createServer((request, response) => {
    note(request);
    response.writeHead(405).end();
  });
  server.on('connection', (socket) => socket.on('error', () => undefined));
  server.on('connect', (request, client, head) => {
    note(request);
    if (self.response !== null) {
      self.response(client);
      return;
    }
    const { hostname, port } = new URL(`http://${request.url}`);
    const target = connect(Number(port), hostname);
    target.on('connect', () => {
      client.write('HTTP/1.1 200 Connection Established\r\n\r\n');
      target.write(head);
      client.pipe(target).pipe(client);
    });
    target.on('error', () => client.end('HTTP/1.1 502 Bad Gateway\r\n\r\n'));
    target.on('close', () => client.destroy());
    client.on('close', () => target.destroy());
  });
  const { port, close } = await listenOnLoopback(server);
  const self: HttpProxy = {
    host: `127.0.0.1:${port}`,
    asked: [],
    authorizations: [],
    response: null,
    close,
  };
  return self;
}
