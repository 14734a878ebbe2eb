import { once } from 'node:events';
import { connect, type Socket } from 'node:net';

/** HTTP as bytes on a socket, for what no client library sends. */

export interface RawRequest {
  readonly method?: string;
  readonly path: string;
  /** Sent verbatim, in this order, after `Host`. */
  readonly headers?: readonly (readonly [name: string, value: string])[];
  readonly body?: Buffer | string;
  /** Sends the body in chunks of this size, without Content-Length. */
  readonly chunkBytes?: number;
}

/** The bytes of a request. A body gets a Content-Length, unless it is chunked or a header replaces it. */
export function requestBytes({ method = 'POST', path, headers = [], body, chunkBytes }: RawRequest): Buffer {
  const content = body === undefined ? null : Buffer.from(body);
  const lines = [
    `${method} ${path} HTTP/1.1`,
    'Host: gateway.test',
    ...headers.map(([name, value]) => `${name}: ${value}`),
  ];
  const statesLength = headers.some(([name]) => /^(content-length|transfer-encoding)$/i.test(name));
  if (content !== null && chunkBytes !== undefined) lines.push('Transfer-Encoding: chunked');
  else if (content !== null && !statesLength) lines.push(`Content-Length: ${content.length}`);
  const head = Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1');
  if (content === null) return head;
  return Buffer.concat([head, chunkBytes === undefined ? content : chunked(content, chunkBytes)]);
}

function chunked(content: Buffer, chunkBytes: number): Buffer {
  const parts: Buffer[] = [];
  for (let at = 0; at < content.length; at += chunkBytes) {
    const part = content.subarray(at, at + chunkBytes);
    parts.push(Buffer.from(`${part.length.toString(16)}\r\n`), part, Buffer.from('\r\n'));
  }
  return Buffer.concat([...parts, Buffer.from('0\r\n\r\n')]);
}

export interface RawResponse {
  readonly status: number;
  /** By lower-case name. Repeated headers are joined with `, `. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
}

/** One connection, written and read by hand. */
export interface RawConnection {
  write(bytes: Buffer | string): void;
  /** Sends FIN, and keeps reading. */
  halfClose(): void;
  /** Resets the connection. */
  destroy(): void;
  /**
   * The next response, including interim ones such as `100 Continue`. `method` is the method of its request: a response to HEAD has no
   * body, whatever its headers are.
   *
   * @throws if the connection ends before the response is complete
   */
  response(method?: string): Promise<RawResponse>;
  /** Resolves when unread data contains the text; rejects if the connection ends without it. */
  received(text: string): Promise<void>;
  /** Resolves with the unread data once the gateway has closed the connection. */
  closed(): Promise<Buffer>;
}

/** `localAddress`: source address on this machine, such as `127.0.0.2`. */
export async function openConnection(
  url: string,
  { localAddress }: { readonly localAddress?: string } = {},
): Promise<RawConnection> {
  const { hostname, port } = new URL(url);
  const socket: Socket = connect({
    host: hostname,
    port: Number(port),
    allowHalfOpen: true,
    ...(localAddress === undefined ? {} : { localAddress }),
  });
  let received = Buffer.alloc(0);
  let hasEnded = false;
  let failure: Error | null = null;
  let wake: () => void = () => undefined;
  socket.on('data', (bytes: Buffer) => {
    received = Buffer.concat([received, bytes]);
    wake();
  });
  const onEnd = (error?: Error): void => {
    hasEnded = true;
    failure ??= error ?? null;
    wake();
  };
  socket.on('end', () => onEnd());
  socket.on('close', () => onEnd());
  socket.on('error', onEnd);
  await once(socket, 'connect');

  /** Resolves when more data has arrived, or no more will. */
  const change = (): Promise<void> => new Promise((resolve) => (wake = resolve));

  return {
    write: (bytes) => void socket.write(bytes),
    halfClose: () => void socket.end(),
    destroy: () => void socket.destroy(),
    async response(method = 'POST') {
      for (;;) {
        const parsed = parseResponse(received, method, hasEnded);
        if (parsed !== null) {
          received = received.subarray(parsed.bytes);
          return parsed.response;
        }
        if (hasEnded) {
          throw new Error(`the connection ended after ${received.length} bytes: ${received.subarray(0, 200)}`, {
            cause: failure,
          });
        }
        await change();
      }
    },
    async received(text) {
      while (!received.includes(text)) {
        if (hasEnded) throw new Error(`the connection ended without ${JSON.stringify(text)}`, { cause: failure });
        await change();
      }
    },
    async closed() {
      while (!hasEnded) await change();
      socket.destroy();
      return received;
    },
  };
}

/** The response at the start of the bytes and its length, or `null` if it is incomplete. */
function parseResponse(
  bytes: Buffer,
  method: string,
  hasEnded: boolean,
): { response: RawResponse; bytes: number } | null {
  const headEnd = bytes.indexOf('\r\n\r\n');
  if (headEnd === -1) return null;
  const [statusLine = '', ...lines] = bytes.toString('latin1', 0, headEnd).split('\r\n');
  const status = Number(/^HTTP\/1\.1 (\d{3}) /.exec(statusLine)?.[1]);
  if (!(status >= 100)) throw new Error(`not a status line: ${statusLine}`);
  const headers: Record<string, string> = {};
  for (const line of lines) {
    const colon = line.indexOf(':');
    const name = line.slice(0, colon).toLowerCase();
    const value = line.slice(colon + 1).trim();
    headers[name] = headers[name] === undefined ? value : `${headers[name]}, ${value}`;
  }
  const bodyStart = headEnd + 4;
  const complete = (body: Buffer, end: number) => ({ response: { status, headers, body }, bytes: end });
  if (method === 'HEAD' || status < 200 || status === 204 || status === 304)
    return complete(Buffer.alloc(0), bodyStart);
  if (headers['transfer-encoding'] === 'chunked') {
    const parts: Buffer[] = [];
    for (let at = bodyStart; ; ) {
      const lineEnd = bytes.indexOf('\r\n', at);
      if (lineEnd === -1) return null;
      const size = Number.parseInt(bytes.toString('latin1', at, lineEnd), 16);
      const end = lineEnd + 2 + size + 2;
      if (bytes.length < end) return null;
      if (size === 0) return complete(Buffer.concat(parts), end);
      parts.push(bytes.subarray(lineEnd + 2, end - 2));
      at = end;
    }
  }
  if (headers['content-length'] === undefined) {
    return hasEnded ? complete(bytes.subarray(bodyStart), bytes.length) : null;
  }
  const end = bodyStart + Number(headers['content-length']);
  return bytes.length < end ? null : complete(bytes.subarray(bodyStart, end), end);
}

/** Sends one request on a new connection; returns the response. */
export async function sendRaw(url: string, request: RawRequest): Promise<RawResponse> {
  const connection = await openConnection(url);
  try {
    connection.write(requestBytes(request));
    return await connection.response(request.method);
  } finally {
    connection.destroy();
  }
}
