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
  /** Ends the connection that comes from this port of the proxy to the server, on both sides, as where the process of the client has ended. */
  end(port: number): void;
  /**
   * Swallows whatever the connections that are open now send in either direction, as a network that fails without a word;
   * those that are opened later work.
   */
  swallow(): void;
  /** As `swallow`, also for connections that are opened until `allow`; they are taken, and nothing comes. */
  swallowAll(): void;
  /** As `swallow`, for the next connection that is opened. */
  swallowNext(): void;
  /** From now on new connections are broken off at once, until `allow`. */
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

  // Nothing of it keeps the process alive: a hook that fails before `close` shall fail, and not hang.
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
