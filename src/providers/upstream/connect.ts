import { request } from 'node:http';
import { isIPv6, type Socket } from 'node:net';
import { buildConnector, type Connector } from '../../lib/http-client.ts';

interface ConnectOptions {
  /** For the TCP connection and the TLS handshake together; by way of a proxy, for the proxy and the handshake each. */
  readonly timeoutMs: number;
  /** Offers HTTP/2 in the TLS handshake. */
  readonly http2: boolean;
  /** The certificate authorities that the provider's certificate may come from, as PEM; `null`: those of Node. */
  readonly ca: string | null;
  /** `http://user:password@host:port`; `null`: no proxy. Secret. */
  readonly proxy: string | null;
}

/** Makes the connections to a provider. Its errors name no credential, and their codes never cause a retry. */
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

/** The proxy did not open a tunnel: nothing has reached the provider. */
class ProxyFailure extends Error {
  readonly code = 'PROXY_FAILURE';

  constructor(message: string) {
    super(message);
    this.name = 'ProxyFailure';
  }
}

/**
 * A tunnel through an HTTP proxy, for http and https alike: the proxy sees a host and a port, and never a call or a
 * credential.
 *
 * undici's own agent for proxies waits for the response to CONNECT for as long as for the first byte of a model's
 * response, and keeps its limit of connections per agent; so the tunnel is made here, below the pool.
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
    let isTold = false;
    const tell = (error: Error | null, socket?: Socket): void => {
      if (isTold) return;
      isTold = true;
      clearTimeout(timer);
      if (error !== null) {
        connect.destroy();
        callback(error, null);
      } else if (protocol === 'https:') direct({ ...options, httpSocket: socket! }, callback);
      else callback(null, socket!);
    };
    const timer = setTimeout(() => tell(new ProxyFailure('the proxy did not open a tunnel in time')), timeoutMs);
    connect.on('error', (error) => tell(error));
    connect.once('connect', ({ statusCode }, socket, head) => {
      // Until the pool adds its own listener, an error would have no other one.
      socket.on('error', () => undefined);
      if (isTold || statusCode !== 200) {
        socket.destroy();
        tell(new ProxyFailure(`the proxy responded to CONNECT with status ${statusCode}`));
        return;
      }
      socket.setNoDelay(true);
      if (head.length > 0) socket.unshift(head);
      tell(null, socket as Socket);
    });
    connect.end();
  };
}

function proxyAuthorization({ username, password }: URL): string | null {
  if (username === '' && password === '') return null;
  const credential = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
  return `Basic ${Buffer.from(credential).toString('base64')}`;
}
