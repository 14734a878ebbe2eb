import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';

/** A piece of network between the gateway and its database that a test can break. */
export interface TestProxy {
  /** The address given, through the proxy. */
  readonly url: string;
  /** Connections that are open at the moment. */
  readonly connections: number;
  /** Resolves at the next attempt to connect while it is refused. */
  refused(): Promise<void>;
  /**
   * Breaks every connection off on the near side. The server gets no end of the connection: it goes on with its work, as
   * after a cable was pulled.
   */
  cut(): void;
  /** From now on new connections are broken off at once, until `allow`. */
  refuse(): void;
  allow(): void;
  close(): Promise<void>;
}

export async function startProxy(target: string): Promise<TestProxy> {
  const { hostname, port } = new URL(target);
  const near = new Set<Socket>();
  const far = new Set<Socket>();
  let isRefusing = false;
  let refusal = Promise.withResolvers<void>();

  const server: Server = createServer((client) => {
    client.on('error', () => undefined);
    if (isRefusing) {
      client.resetAndDestroy();
      refusal.resolve();
      refusal = Promise.withResolvers();
      return;
    }
    const upstream = connect(Number(port), hostname);
    upstream.on('error', () => client.destroy());
    near.add(client);
    far.add(upstream);
    client.on('data', (bytes) => upstream.write(bytes));
    client.on('end', () => upstream.end());
    upstream.on('data', (bytes) => client.write(bytes));
    upstream.on('close', () => {
      far.delete(upstream);
      client.destroy();
    });
    client.on('close', () => near.delete(client));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');

  const url = new URL(target);
  url.host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    url: url.href,
    get connections() {
      return near.size;
    },
    refused: () => refusal.promise,
    cut() {
      for (const client of near) client.resetAndDestroy();
    },
    refuse() {
      isRefusing = true;
    },
    allow() {
      isRefusing = false;
    },
    async close() {
      for (const socket of [...near, ...far]) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}
