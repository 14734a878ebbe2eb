import { createServer } from 'node:net';
import { listenOnLoopback } from '../support/loopback.ts';

/** The proxy for all addresses except the gateway's. It refuses and records every request. */
export interface Outside {
  readonly url: string;
  /** Such as `CONNECT example.com:443`. */
  readonly asked: string[];
  close(): Promise<void>;
}

export async function startOutside(): Promise<Outside> {
  const asked: string[] = [];
  const server = createServer((socket) => {
    socket.on('error', () => undefined);
    socket.once('data', (bytes) => {
      asked.push(bytes.toString('latin1').split(' ').slice(0, 2).join(' '));
      socket.end('HTTP/1.1 403 Forbidden\r\ncontent-length: 0\r\nconnection: close\r\n\r\n');
    });
  });
  const { port, close } = await listenOnLoopback(server);
  return { url: `http://127.0.0.1:${port}`, asked, close };
}
