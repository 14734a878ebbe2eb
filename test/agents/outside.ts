import { type AddressInfo, createServer, type Socket } from 'node:net';

/** The proxy that agents are given for every address but the gateway's. It lets nothing through and remembers who asked. */
export interface Outside {
  readonly url: string;
  /** Such as `CONNECT example.com:443`. */
  readonly asked: string[];
  close(): Promise<void>;
}

export async function startOutside(): Promise<Outside> {
  const asked: string[] = [];
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
    socket.on('error', () => undefined);
    socket.once('data', (bytes) => {
      asked.push(bytes.toString('latin1').split(' ').slice(0, 2).join(' '));
      socket.end('HTTP/1.1 403 Forbidden\r\ncontent-length: 0\r\nconnection: close\r\n\r\n');
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    asked,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        for (const socket of sockets) socket.destroy();
      }),
  };
}
