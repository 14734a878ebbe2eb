import type { ServerResponse } from 'node:http';
import type { LingerTurns } from './linger-turns.ts';

/** How much of a request is still read after its response, for how long, and for how long no byte may come. */
export interface LingerLimits {
  readonly sizeBytesMax: number;
  readonly timeoutMs: number;
  readonly idleTimeoutMs: number;
}

/**
 * A body of the usual limit, from a client that sends all of it before it reads; a slower client has had time to read.
 */
export const LINGER_LIMITS: LingerLimits = { sizeBytesMax: 64 * 2 ** 20, timeoutMs: 10_000, idleTimeoutMs: 5_000 };

/**
 * Reads and drops the rest of a request that already has its response, for a bounded time. Call this for every response
 * before its end is sent.
 *
 * A connection that is closed while the client still sends is reset, and the client may lose the response with it (RFC
 * 9112, 9.6). So if the connection ends behind the response, only its sending side is closed at first. If the
 * rest comes in time, the connection serves on or ends as it should; else it is cut. It is read by turns, so that other
 * connections do not wait for bytes that are dropped.
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

  // Node calls this to end a connection behind its last response.
  socket.destroySoon = () => {
    isClosing = true;
    socket.end();
  };
  socket.once('close', stop);
  request.on('data', onData).once('end', onEnd);
  // From here on the rest is read piece by piece. Otherwise Node would drop it by itself, and the amount would be
  // unknown.
  while (request.read() !== null);
  request.resume();
}
