import type { Socket } from 'node:net';
import type { HttpClient } from './http.ts';

/** Sends a head and a part of a body, and then nothing more; counts the answer, if one comes. */
export function sendPart(http: HttpClient, head: string, part: Buffer): { socket: Socket } {
  const socket = http.socket();
  countAnswer(http, socket);
  socket.write(head);
  socket.write(part);
  return { socket };
}

/** Counts the status of the first answer on a connection. */
export function countAnswer(http: HttpClient, socket: Socket): void {
  socket.once('data', (bytes: Buffer) =>
    http.count(/^HTTP\/1\.1 (\d{3})/.exec(bytes.toString('latin1'))?.[1] ?? 'odd'),
  );
  socket.resume();
}
