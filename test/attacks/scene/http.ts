import { Agent, type IncomingMessage, request } from 'node:http';
import { connect, type Socket } from 'node:net';

/** The HTTP client of attacks, which counts outcomes. */
export interface AttackRequest {
  readonly method?: string;
  readonly path: string;
  readonly key?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Objects are sent as JSON. Functions return prepared bytes. */
  readonly body?: object | Buffer | string;
  /** The local loopback address. */
  readonly localAddress?: string;
}

export interface AttackResponse {
  /** The status, or the failure: `ECONNRESET`, `no response`. */
  readonly status: number | string;
  readonly headers: IncomingMessage['headers'];
  /** The first bytes of the body. */
  readonly text: string;
}

export interface BegunCall {
  isResponded(): boolean;
  leave(): void;
}

export interface LiveStream {
  readonly status: number;
  /** Resolves when the text has arrived; `false` if the stream ends without it. */
  until(text: string): Promise<boolean>;
  /** Resets the connection. */
  leave(): void;
}

/** A slower response counts as missing. */
const GIVEN_UP_MS = 40_000;
const TEXT_CHARS_MAX = 65_536;

export class HttpClient {
  readonly #url: string;
  readonly #agent = new Agent({ keepAlive: true });
  /** Number of responses by status, and of failures by code. */
  readonly responses: Record<string, number> = {};

  constructor(url: string) {
    this.#url = url;
  }

  send(sent: AttackRequest): Promise<AttackResponse> {
    return new Promise((resolve) => {
      const end = (status: number | string, headers: IncomingMessage['headers'], text: string): void => {
        clearTimeout(timer);
        this.count(status);
        resolve({ status, headers, text });
      };
      const outgoing = this.#request(sent, (response) => {
        let text = '';
        response.setEncoding('utf8');
        response.on('data', (piece: string) => {
          if (text.length < TEXT_CHARS_MAX) text += piece;
        });
        response.on('error', () => undefined);
        response.on('close', () => end(response.complete ? response.statusCode! : 'cut off', response.headers, text));
        // An early response counts, even if the rest of the body cannot be sent.
        outgoing.removeAllListeners('error').on('error', () => undefined);
      });
      const timer = setTimeout(() => outgoing.destroy(new Error('no response')), GIVEN_UP_MS);
      outgoing.on('error', (error: NodeJS.ErrnoException) => end(error.code ?? error.message, {}, error.message));
      outgoing.end(bytesOf(sent.body));
    });
  }

  /** Sends a request; resolves at the head of the response. */
  open(sent: AttackRequest): Promise<LiveStream> {
    return new Promise((resolve, reject) => {
      const outgoing = this.#request(sent, (response) => {
        this.count(response.statusCode!);
        resolve(liveStream(response));
      });
      outgoing.on('error', (error: NodeJS.ErrnoException) => {
        this.count(error.code ?? error.message);
        reject(error);
      });
      outgoing.end(bytesOf(sent.body));
    });
  }

  /** Sends a request that may be abandoned before the response. */
  begin(sent: AttackRequest): BegunCall {
    let isResponded = false;
    const outgoing = this.#request(sent, (response) => {
      isResponded = true;
      response.on('error', () => undefined);
      response.resume();
      this.count(response.statusCode!);
    });
    outgoing.on('error', () => undefined);
    outgoing.end(bytesOf(sent.body));
    return { isResponded: () => isResponded, leave: () => void outgoing.destroy() };
  }

  /** A connection that is written and read by hand. */
  socket(localAddress?: string): Socket {
    const { hostname, port } = new URL(this.#url);
    const socket = connect({
      host: hostname,
      port: Number(port),
      ...(localAddress === undefined ? {} : { localAddress }),
    });
    socket.on('error', () => undefined);
    return socket;
  }

  count(status: number | string, times = 1): void {
    this.responses[status] = (this.responses[status] ?? 0) + times;
  }

  #request(sent: AttackRequest, onResponse: (response: IncomingMessage) => void) {
    const { method = 'POST', path, key, headers = {}, body, localAddress } = sent;
    const isJson = body !== undefined && !Object.keys(headers).includes('content-type');
    return request(
      this.#url + path,
      {
        method,
        agent: this.#agent,
        headers: {
          ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
          ...(isJson ? { 'content-type': 'application/json' } : {}),
          ...headers,
        },
        ...(localAddress === undefined ? {} : { localAddress }),
      },
      onResponse,
    );
  }
}

function bytesOf(body: AttackRequest['body']): Buffer | string | undefined {
  return body === undefined || typeof body === 'string' || Buffer.isBuffer(body) ? body : JSON.stringify(body);
}

function liveStream(response: IncomingMessage): LiveStream {
  let text = '';
  let hasEnded = false;
  let wake: () => void = () => undefined;
  response.setEncoding('utf8');
  response.on('data', (piece: string) => {
    text += piece;
    wake();
  });
  response.on('error', () => undefined);
  response.on('close', () => {
    hasEnded = true;
    wake();
  });
  return {
    status: response.statusCode!,
    async until(expected) {
      while (!text.includes(expected) && !hasEnded) await new Promise<void>((resolve) => (wake = resolve));
      return text.includes(expected);
    },
    leave: () => void response.destroy(),
  };
}

/** The head of a request, as `HttpClient.socket` sends it. */
export function headOf(method: string, path: string, headers: Readonly<Record<string, string>>): string {
  const lines = Object.entries({ host: 'gateway.test', ...headers }).map(([name, value]) => `${name}: ${value}`);
  return `${[`${method} ${path} HTTP/1.1`, ...lines].join('\r\n')}\r\n\r\n`;
}
