import { request } from 'node:http';
import { isIPv6, type Socket } from 'node:net';
import { buildConnector, type Connector } from '../../lib/http-client.ts';

interface ConnectOptions {
  /** Maximum time for the TCP connection and the TLS handshake together; with a proxy, for each. */
  readonly timeoutMs: number;
  readonly http2: boolean;
  /** Accepted certificate authorities in PEM; `null`: those that Node accepts. */
  readonly ca: string | null;
  /** `http://user:password@host:port`; `null`: no proxy. Secret. */
  readonly proxy: string | null;
}

/** Errors of connections contain no credential, and their codes never cause a retry. */
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
 * Opens a tunnel through an HTTP proxy, for http and https. The proxy sees only the host and the port. undici's proxy agent would wait for
 * the response to CONNECT as long as for a model's response, and limits connections per agent; the tunnel is therefore opened below the
 * connection pool.
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
