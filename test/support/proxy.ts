import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';

/** A network between the gateway and its database that a test can break. */
export interface TestProxy {
  /** The given address, through the proxy. */
  readonly url: string;
  /** Number of open connections. */
  readonly connections: number;
  /** Resolves at the next connection attempt that is refused. */
  refused(): Promise<void>;
  /**
   * Resets every connection on the gateway's side only. The server is not notified and continues its work, as after a cable was pulled.
   */
  cut(): void;
  /** Closes the connection with this local port on both sides, as if the client process had exited. */
  end(port: number): void;
  /** Drops everything that open connections send in either direction, without closing them. New connections work. */
  swallow(): void;
  /** Like `swallow`, and also accepts new connections without passing anything on, until `allow`. */
  swallowAll(): void;
  /** Like `swallow`, for the next new connection only. */
  swallowNext(): void;
  /** Resets new connections at once, until `allow`. */
  refuse(): void;
  allow(): void;
  close(): Promise<void>;
}

export async function startProxy(target: string): Promise<TestProxy> {
  const { hostname, port } = new URL(target);
  const near = new Set<Socket>();
  const far = new Set<Socket>();
  const swallowed = new WeakSet<Socket>();
  let isRefusing = false;
  let isNextSwallowed = false;
  let isSwallowing = false;
  let refusal = Promise.withResolvers<void>();

  // Does not keep the process alive, so that a hook that fails before `close` fails instead of hanging.
  const server: Server = createServer((client) => {
    client.unref();
    client.on('error', () => undefined);
    if (isRefusing) {
      client.resetAndDestroy();
      refusal.resolve();
      refusal = Promise.withResolvers();
      return;
    }
    near.add(client);
    client.on('close', () => near.delete(client));
    if (isSwallowing) {
      swallowed.add(client);
      client.resume();
      return;
    }
    const upstream = connect(Number(port), hostname).unref();
    upstream.on('error', () => client.destroy());
    if (isNextSwallowed) swallowed.add(client);
    isNextSwallowed = false;
    far.add(upstream);
    const pass = (from: Socket, to: Socket) =>
      from.on('data', (bytes) => {
        if (!swallowed.has(client)) to.write(bytes);
      });
    pass(client, upstream);
    pass(upstream, client);
    client.on('end', () => {
      if (!swallowed.has(client)) upstream.end();
    });
    upstream.on('close', () => {
      far.delete(upstream);
      if (!swallowed.has(client)) client.destroy();
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  server.unref();

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
    end(port) {
      for (const upstream of far) if (upstream.localPort === port) upstream.destroy();
    },
    swallowNext() {
      isNextSwallowed = true;
    },
    swallow() {
      for (const client of near) swallowed.add(client);
    },
    swallowAll() {
      isSwallowing = true;
      for (const client of near) swallowed.add(client);
    },
    refuse() {
      isRefusing = true;
    },
    allow() {
      isRefusing = false;
      isSwallowing = false;
    },
    async close() {
      for (const socket of [...near, ...far]) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}
