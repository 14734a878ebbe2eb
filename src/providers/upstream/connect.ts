import { request } from 'node:http';
import { isIPv6, type Socket } from 'node:net';
import { buildConnector, type Connector } from '../../lib/http-client.ts';

interface ConnectOptions {
  /** Maximum time for TCP connection and TLS handshake together. With a proxy, it applies to the tunnel and to the handshake in it. */
  readonly timeoutMs: number;
  readonly http2: boolean;
  /** Accepted certificate authorities in PEM; `null`: Node's default. */
  readonly ca: string | null;
  /** Contains a password. `http://user:password@host:port`; `null`: no proxy. */
  readonly proxy: string | null;
}

/** Opens connections to a provider. Errors contain no credential, and undici retries nothing because of their codes. */
export function createConnector({ timeoutMs, http2, ca, proxy }: ConnectOptions): Connector {
  const direct = buildConnector({
    timeout: timeoutMs,
    noDelay: true,
    allowH2: http2,
    preferH2: http2,
    ...(ca === null ? {} : { ca }),
  });
  return proxy === null ? direct : throughProxy(new URL(proxy), direct, timeoutMs);
}

class ProxyFailure extends Error {
  readonly code = 'PROXY_FAILURE';

  constructor(message: string) {
    super(message);
    this.name = 'ProxyFailure';
  }
}

/**
 * Opens a tunnel through an HTTP proxy. The proxy sees only the host and the port. undici's own proxy agent is not used: it would wait for
 * the tunnel as long as for a model's response, and it limits connections per agent. The tunnel is instead a connection of the pool.
 */
function throughProxy(proxy: URL, direct: Connector, timeoutMs: number): Connector {
  const authorization = proxyAuthorization(proxy);
  return (options, callback) => {
    const { hostname, protocol } = options;
    const port = options.port || (protocol === 'https:' ? '443' : '80');
    const target = `${isIPv6(hostname) ? `[${hostname}]` : hostname}:${port}`;
    const connect = request({
      method: 'CONNECT',
      host: proxy.hostname.replace(/^\[|\]$/g, ''),
      port: proxy.port || 80,
      path: target,
      headers: { host: target, ...(authorization === null ? {} : { 'proxy-authorization': authorization }) },
      agent: false,
    });
    let isSettled = false;
    const settle = (error: Error | null, socket?: Socket): void => {
      if (isSettled) return;
      isSettled = true;
      clearTimeout(timer);
      if (error !== null) {
        connect.destroy();
        callback(error, null);
      } else if (protocol === 'https:') direct({ ...options, httpSocket: socket! }, callback);
      else callback(null, socket!);
    };
    const timer = setTimeout(() => settle(new ProxyFailure('the proxy did not open a tunnel in time')), timeoutMs);
    connect.on('error', (error) => settle(error));
    connect.once('connect', ({ statusCode }, socket, head) => {
      // Prevents an unhandled error until the connection pool adds its own listener.
      socket.on('error', () => undefined);
      if (isSettled || statusCode !== 200) {
        socket.destroy();
        settle(new ProxyFailure(`the proxy responded to CONNECT with status ${statusCode}`));
        return;
      }
      socket.setNoDelay(true);
      if (head.length > 0) socket.unshift(head);
      settle(null, socket as Socket);
    });
    connect.end();
  };
}

function proxyAuthorization({ username, password }: URL): string | null {
  if (username === '' && password === '') return null;
  const credential = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
  return `Basic ${Buffer.from(credential).toString('base64')}`;
}
