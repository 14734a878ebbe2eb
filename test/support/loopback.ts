import { once } from 'node:events';
import type { AddressInfo, Server, Socket } from 'node:net';

/** A server that a test has begun. */
export interface OnLoopback {
  readonly port: number;
  /** Ends the server with all its connections. */
  close(): Promise<void>;
}

/** Has a server listen on a free port of loopback. */
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
