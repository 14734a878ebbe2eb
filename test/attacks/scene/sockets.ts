import type { Socket } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';
import type { HttpClient } from './http.ts';

export interface HalfSent {
  readonly connections: number;
  /** The head of each request. */
  readonly head: (index: number) => string;
  /** The first bytes of each body. */
  readonly begin?: Buffer;
  /** How many bytes of each body to send, and the size of each write. */
  readonly sentBytes: number;
  readonly pieceBytes: number;
  /** How long the connections stay open after that. */
  readonly stayMs: number;
}

/** Limits the rate: a burst of all bytes would attack the machine's network, not the gateway. */
const PIECE_EVERY_MS = 100;

/** Sends incomplete bodies in small writes, and then nothing more. Returns the total of bytes sent. */
export async function sendHalf(http: HttpClient, sent: HalfSent): Promise<number> {
  const { connections, head, begin = Buffer.alloc(0), sentBytes, pieceBytes, stayMs } = sent;
  const piece = Buffer.alloc(pieceBytes, ' ');
  const sockets = Array.from({ length: connections }, (_, index) => {
    const socket = http.socket();
    countResponse(http, socket);
    socket.write(head(index));
    socket.write(begin);
    return socket;
  });
  for (let bytes = 0; bytes < sentBytes; bytes += pieceBytes) {
    for (const socket of sockets) if (socket.writable && !socket.writableNeedDrain) socket.write(piece);
    await wait(PIECE_EVERY_MS);
  }
  await wait(stayMs);
  const takenBytes = sockets.reduce((sum, socket) => sum + takenOf(socket), 0);
  for (const socket of sockets) socket.destroy();
  return takenBytes;
}

/** Bytes that have left this process. */
export function takenOf({ bytesWritten, writableLength }: Socket): number {
  return bytesWritten - writableLength;
}

/** Counts the status of the first response on a connection. */
export function countResponse(http: HttpClient, socket: Socket): void {
  socket.once('data', (bytes: Buffer) =>
    http.count(/^HTTP\/1\.1 (\d{3})/.exec(bytes.toString('latin1'))?.[1] ?? 'odd'),
  );
  socket.resume();
}
