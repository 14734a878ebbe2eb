import { createServer, type Socket } from 'node:net';
import { listenOnLoopback } from './loopback.ts';

/**
 * A provider whose every byte is controlled by a test: what it reads, what it sends, and how it closes a connection, HTTP or not. It does
 * what a well-behaved server cannot; for all other cases there is `provider.ts`.
 */
export interface HostileProvider {
  /** Without a path: chat providers get `/v1` appended, messages providers do not. */
  readonly url: string;
  /** Called for each new connection, and at the first byte of each later request on it. */
  behave: Behaviour;
  /** Number of connections that the gateway has opened. */
  readonly connections: number;
  /** Number of requests read completely. */
  readonly requests: readonly HostileRequest[];
  close(): Promise<void>;
}

export type Behaviour = (connection: HostileConnection) => Promise<void> | void;

export interface HostileRequest {
  readonly head: string;
  readonly body: Buffer;
}

/** A connection from the gateway. Nothing is read unless the behaviour reads it. */
export interface HostileConnection {
  /** Reads the head of the request and leaves the body unread. */
  head(): Promise<string>;
  request(): Promise<HostileRequest>;
  /** Sends bytes. Resolves when the operating system has accepted them, or the connection is closed. */
  send(bytes: Buffer | string): Promise<void>;
  /** Sends FIN. */
  fin(): void;
  /** Resets the connection. */
  reset(): void;
  /** Resolves when the connection is closed by either side. */
  readonly closed: Promise<void>;
  readonly isClosed: boolean;
}

export async function startHostileProvider(): Promise<HostileProvider> {
  const requests: HostileRequest[] = [];
  let connections = 0;
  const server = createServer({ allowHalfOpen: true, pauseOnConnect: true, noDelay: true }, (socket) => {
    connections++;
    void serve(new Connection(socket, requests));
  });
  const { port, close } = await listenOnLoopback(server);

  async function serve(connection: Connection): Promise<void> {
    try {
      do {
        await provider.behave(connection);
      } while (await connection.isAskedAgain());
    } catch (error) {
      // Most of these tests are about gateways that hang up. Any other error is a bug in a test.
      if (!(error instanceof HungUpError)) throw error;
    }
  }

  const provider: HostileProvider = {
    url: `http://127.0.0.1:${port}`,
    behave: () => undefined,
    get connections() {
      return connections;
    },
    requests,
    close,
  };
  return provider;
}

const HEAD_END = '\r\n\r\n';

/** The gateway closed its side while a behaviour was reading. */
class HungUpError extends Error {}

class Connection implements HostileConnection {
  readonly closed: Promise<void>;
  readonly #socket: Socket;
  readonly #requests: HostileRequest[];
  #received: Buffer[] = [];
  #receivedBytes = 0;
  #hasEnded = false;
  #isReading = false;
  #wasRead = false;
  #wake: () => void = () => undefined;

  constructor(socket: Socket, requests: HostileRequest[]) {
    this.#socket = socket;
    this.#requests = requests;
    this.closed = new Promise((resolve) => socket.once('close', () => resolve()));
    const onEnd = (): void => {
      this.#hasEnded = true;
      this.#wake();
    };
    socket.on('error', onEnd);
    socket.on('end', onEnd);
    socket.on('close', onEnd);
  }

  get isClosed(): boolean {
    return this.#socket.destroyed;
  }

  async head(): Promise<string> {
    // The head is small, so it may be searched again with each packet.
    while (!this.#peek().includes(HEAD_END)) await this.#more();
    const head = this.#take(this.#peek().indexOf(HEAD_END) + HEAD_END.length).toString('latin1');
    this.#wasRead = true;
    this.#pause();
    return head;
  }

  async request(): Promise<HostileRequest> {
    const head = await this.head();
    const length = Number(/^content-length: (\d+)\r$/im.exec(head)?.[1]);
    while (this.#receivedBytes < length) await this.#more();
    const request = { head, body: this.#take(length) };
    this.#requests.push(request);
    // From here on, notices if the gateway hangs up.
    this.#read();
    return request;
  }

  send(bytes: Buffer | string): Promise<void> {
    return new Promise((resolve) => {
      if (this.#socket.destroyed) resolve();
      else this.#socket.write(bytes, () => resolve());
    });
  }

  fin(): void {
    this.#read();
    this.#socket.end();
  }

  reset(): void {
    this.#socket.resetAndDestroy();
  }

  /** Whether another request begins on this connection; false if it is closed. */
  async isAskedAgain(): Promise<boolean> {
    if (this.#socket.destroyed || this.#socket.writableEnded) return false;
    if (!this.#wasRead) throw new Error('a behaviour has to read the request, end the connection or wait for its end');
    this.#wasRead = false;
    this.#read();
    while (this.#receivedBytes === 0 && !this.#hasEnded) await this.#change();
    if (this.#receivedBytes > 0) return true;
    this.#socket.destroy();
    return false;
  }

  #read(): void {
    if (!this.#isReading) {
      this.#isReading = true;
      this.#socket.on('data', (bytes: Buffer) => {
        this.#received.push(bytes);
        this.#receivedBytes += bytes.length;
        this.#wake();
      });
      this.#socket.on('end', () => this.#socket.destroy());
    }
    this.#socket.resume();
  }

  #pause(): void {
    this.#socket.pause();
  }

  async #more(): Promise<void> {
    this.#read();
    if (this.#hasEnded) throw new HungUpError();
    await this.#change();
  }

  /** Resolves when more data has arrived, or no more will. */
  #change(): Promise<void> {
    return new Promise((resolve) => (this.#wake = resolve));
  }

  #peek(): Buffer {
    if (this.#received.length > 1) this.#received = [Buffer.concat(this.#received)];
    return this.#received[0] ?? Buffer.alloc(0);
  }

  #take(bytes: number): Buffer {
    const all = this.#peek();
    this.#received = all.length > bytes ? [all.subarray(bytes)] : [];
    this.#receivedBytes = all.length - bytes;
    return all.subarray(0, bytes);
  }
}

/** The parts of a response. Headers are sent verbatim, in this order. */
export interface RawResponseParts {
  readonly status?: number | string;
  readonly headers?: readonly string[];
  readonly body?: Buffer | string;
}

/** The bytes of a response without headers about its length. */
export function responseBytes({ status = '200 OK', headers = [], body = '' }: RawResponseParts): Buffer {
  const line = typeof status === 'number' ? `${status} Status` : status;
  return Buffer.concat([
    Buffer.from(`HTTP/1.1 ${line}\r\n${headers.map((header) => `${header}\r\n`).join('')}\r\n`),
    Buffer.from(body),
  ]);
}

/** The chunks in chunked encoding. The empty last chunk is included only on request. */
export function chunks(pieces: readonly (Buffer | string)[], { isEnded = true } = {}): Buffer {
  const framed = pieces.flatMap((piece) => [
    Buffer.from(`${Buffer.byteLength(piece).toString(16)}\r\n`),
    Buffer.from(piece),
    Buffer.from('\r\n'),
  ]);
  return Buffer.concat([...framed, Buffer.from(isEnded ? '0\r\n\r\n' : '')]);
}

/** Reads the request, sends these bytes, and keeps the connection open for the next one. */
export function responses(bytes: Buffer | string): Behaviour {
  return async (connection) => {
    await connection.request();
    await connection.send(bytes);
  };
}

/** Reads the request, sends these bytes, and sends FIN. */
export function responsesAndCloses(bytes: Buffer | string): Behaviour {
  return async (connection) => {
    await connection.request();
    await connection.send(bytes);
    connection.fin();
  };
}

/** The ways in which a connection can fail. */
export const ENDS = {
  reset: (connection: HostileConnection): void => connection.reset(),
  fin: (connection: HostileConnection): void => connection.fin(),
  stall: (connection: HostileConnection): Promise<void> => connection.closed,
} as const;

export type End = keyof typeof ENDS;

/**
 * The stages of an exchange at which a provider can fail, with the bytes it has sent by then. `contentType` is the content type of its
 * response, `part` the first part of its body.
 */
export interface Stage {
  readonly name: string;
  /** Whether the head of a success was sent. */
  readonly hasHead: boolean;
  /** Whether a part of its body was sent. */
  readonly hasBody: boolean;
  behaviour(end: End, contentType: string, part: string): Behaviour;
}

function stage(name: string, sent: (contentType: string, part: string) => string): Stage {
  const head = sent('TYPE', 'PART');
  return {
    name,
    hasHead: head.includes('\r\n\r\n'),
    hasBody: head.includes('PART'),
    behaviour: (end, contentType, part) => async (connection) => {
      await connection.request();
      await connection.send(sent(contentType, part));
      await ENDS[end](connection);
    },
  };
}

const headOf = (contentType: string): string =>
  `HTTP/1.1 200 OK\r\ncontent-type: ${contentType}\r\ntransfer-encoding: chunked\r\n`;

export const STAGES: readonly Stage[] = [
  {
    name: 'before it reads the request',
    hasHead: false,
    hasBody: false,
    behaviour: (end) => (connection) => ENDS[end](connection),
  },
  {
    name: 'after the head of the request',
    hasHead: false,
    hasBody: false,
    behaviour: (end) => async (connection) => {
      await connection.head();
      await ENDS[end](connection);
    },
  },
  stage('after it has read the request', () => ''),
  stage('in the middle of the status line', () => 'HTTP/1.1 2'),
  stage('after the status line', () => 'HTTP/1.1 200 OK\r\n'),
  stage('in the middle of the headers', (contentType) => headOf(contentType).slice(0, -9)),
  stage('after the headers', (contentType) => `${headOf(contentType)}\r\n`),
  stage(
    'in the middle of the body',
    (contentType, part) => `${headOf(contentType)}\r\n${chunks([part], { isEnded: false })}`,
  ),
];
