import { once } from 'node:events';
import type { AddressInfo, Server, Socket } from 'node:net';

/** A running server of a test. */
export interface OnLoopback {
  readonly port: number;
  /** Closes the server and all its connections. */
  close(): Promise<void>;
}

/** Listens on a free loopback port. */
export async function listenOnLoopback(server: Server): Promise<OnLoopback> {
  const sockets = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        for (const socket of sockets) socket.destroy();
      }),
  };
}
