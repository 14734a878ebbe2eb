import type { ServerResponse } from 'node:http';
import type { LingerTurns } from './linger-turns.ts';

/** How much of a request is still read behind its answer, for how long, and how long nothing of it may come. */
export interface LingerLimits {
  readonly sizeBytesMax: number;
  readonly timeoutMs: number;
  readonly idleTimeoutMs: number;
}

/** A body of the usual limit, from a client that sends all of it before it reads; what is slower has had its time to read. */
export const LINGER_LIMITS: LingerLimits = { sizeBytesMax: 64 * 2 ** 20, timeoutMs: 10_000, idleTimeoutMs: 5_000 };

/**
 * Reads and drops the rest of a request that has its answer already, for a bounded while. To be called with every answer
 * before its end has been sent.
 *
 * A connection that is closed while the client still sends is reset, and the client may lose the answer with it (RFC 9112,
 * 9.6). So where the connection ends behind the answer, only its sending side is closed at first. Where the rest comes in
 * time, the connection serves on or ends as it should; else it is cut. It is read by turns: nobody else is to wait for
 * bytes that are dropped.
 */
export function lingerBehind(response: ServerResponse, limits: LingerLimits, turns: LingerTurns): void {
  const { req: request } = response;
  if (request.complete || request.destroyed) return;
  const { socket } = request;
  const close = socket.destroySoon;
  let sizeBytes = 0;
  let isClosing = false;
  const timer = setTimeout(cut, limits.timeoutMs);
  const idleTimer = setTimeout(cut, limits.idleTimeoutMs);

  const resume = (): void => void request.resume();
  function stop(): void {
    turns.leave(resume);
    clearTimeout(timer);
    clearTimeout(idleTimer);
    request.off('data', onData).off('end', onEnd);
    socket.off('close', stop);
    socket.destroySoon = close;
  }
  function cut(): void {
    stop();
    socket.destroy();
  }
  function onData(chunk: Buffer): void {
    sizeBytes += chunk.length;
    idleTimer.refresh();
    if (sizeBytes > limits.sizeBytesMax) cut();
    else if (!turns.mayReadOn(resume)) request.pause();
  }
  function onEnd(): void {
    stop();
    if (isClosing) socket.destroySoon();
  }

  // Node's way to end a connection behind its last answer.
  socket.destroySoon = () => {
    isClosing = true;
    socket.end();
  };
  socket.once('close', stop);
  request.on('data', onData).once('end', onEnd);
  // From here on the rest is read piece by piece. Else Node would drop it by itself, and nobody could tell how much.
  while (request.read() !== null);
  request.resume();
}
