import type { Socket } from 'node:net';
import { createServer, type TLSSocket } from 'node:tls';
import { CERTIFICATE, CERTIFICATE_KEY } from './certificate.ts';
import { listenOnLoopback } from './loopback.ts';

/** HTTP/2 frames written by hand (RFC 9113), for what no server library sends. */

const DATA = 0;
const HEADERS = 1;
const RST_STREAM = 3;
const SETTINGS = 4;
const PING = 6;
const GOAWAY = 7;

const ACK = 1;
const END_STREAM = 1;
const END_HEADERS = 4;

const PREFACE_BYTES = 24;
const FRAME_HEAD_BYTES = 9;

export interface FrameConnection {
  /** Sends the head of a response with status 200, on the given stream. */
  head(stream: number): void;
  data(stream: number, text: string, isLast?: boolean): void;
  reset(stream: number, code: number): void;
  /** GOAWAY: streams above `last` were not processed, and no new ones are accepted. */
  goAway(last: number, code?: number): void;
  /** Resets the connection. */
  destroy(): void;
}

export interface FrameServer {
  readonly url: string;
  /** YAML of the provider fields that connect to this server. */
  readonly fields: string;
  /** Number of requests that have begun to arrive, over all connections. */
  readonly requests: number;
  /** Handles the next requests. The index counts all of them. */
  serve: (connection: FrameConnection, stream: number, index: number) => void;
  close(): Promise<void>;
}

export async function startFrameServer(): Promise<FrameServer> {
  let requests = 0;
  const server = createServer({ key: CERTIFICATE_KEY, cert: CERTIFICATE, ALPNProtocols: ['h2'] });
  server.on('tlsClientError', () => undefined);
  server.on('secureConnection', (socket: TLSSocket) => {
    socket.on('error', () => undefined);
    const connection = frameConnection(socket);
    socket.write(frame(SETTINGS, 0, 0));
    let unread = Buffer.alloc(0);
    let isAfterPreface = false;
    socket.on('data', (bytes: Buffer) => {
      unread = Buffer.concat([unread, bytes]);
      if (!isAfterPreface) {
        if (unread.length < PREFACE_BYTES) return;
        unread = unread.subarray(PREFACE_BYTES);
        isAfterPreface = true;
      }
      while (unread.length >= FRAME_HEAD_BYTES) {
        const end = FRAME_HEAD_BYTES + unread.readUIntBE(0, 3);
        if (unread.length < end) return;
        const [type, flags, stream] = [unread[3]!, unread[4]!, unread.readUInt32BE(5)];
        const payload = unread.subarray(FRAME_HEAD_BYTES, end);
        unread = unread.subarray(end);
        if (type === SETTINGS && (flags & ACK) === 0) socket.write(frame(SETTINGS, ACK, 0));
        else if (type === PING && (flags & ACK) === 0) socket.write(frame(PING, ACK, 0, payload));
        else if (type === HEADERS) self.serve(connection, stream, requests++);
      }
    });
  });
  const { port, close } = await listenOnLoopback(server);
  const self: FrameServer = {
    url: `https://127.0.0.1:${port}`,
    fields: `http2: true, ca: ${JSON.stringify(CERTIFICATE)},`,
    get requests() {
      return requests;
    },
    serve: response,
    close,
  };
  return self;
}

export function response(connection: FrameConnection, stream: number): void {
  connection.head(stream);
  connection.data(stream, 'ok', true);
}

function frameConnection(socket: Socket): FrameConnection {
  return {
    // Index 8 of the HPACK static table is `:status: 200`.
    head: (stream) => void socket.write(frame(HEADERS, END_HEADERS, stream, Buffer.from([0x88]))),
    data: (stream, text, isLast = false) =>
      void socket.write(frame(DATA, isLast ? END_STREAM : 0, stream, Buffer.from(text))),
    reset: (stream, code) => void socket.write(frame(RST_STREAM, 0, stream, word(code))),
    goAway: (last, code = 0) => void socket.write(frame(GOAWAY, 0, 0, Buffer.concat([word(last), word(code)]))),
    destroy: () => void socket.destroy(),
  };
}

function frame(type: number, flags: number, stream: number, payload: Buffer = Buffer.alloc(0)): Buffer {
  const head = Buffer.alloc(FRAME_HEAD_BYTES);
  head.writeUIntBE(payload.length, 0, 3);
  head[3] = type;
  head[4] = flags;
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, payload]);
}

function word(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}
