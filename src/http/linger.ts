import type { ServerResponse } from 'node:http';
import type { QueuedItem } from '../lib/fair/fair-queue.ts';
import { PeriodBudget } from '../lib/fair/period-budget.ts';

/** Limits for reading the rest of a request after its response: bytes, total time, and time without a byte. */
export interface LingerLimits {
  readonly sizeBytesMax: number;
  readonly timeoutMs: number;
  readonly idleTimeoutMs: number;
}

/** Enough for a body of the usual limit from a client that sends all of it before it reads; a slower client has had time to read. */
export const LINGER_LIMITS: LingerLimits = { sizeBytesMax: 64 * 2 ** 20, timeoutMs: 10_000, idleTimeoutMs: 5_000 };

/** With `CHUNKS_MAX` as budget and as resumed tasks, at most 8 chunks of 64 KiB are read in a period: some 50 MB/s. */
const CHUNKS_MAX = 4;
const PERIOD_MS = 10;

/**
 * A budget for all lingering connections of a server. Without it, the bytes of one connection may take megabytes in one iteration of the
 * event loop, which accepts one new connection per iteration: two hundred refused uploads once delayed new connections by ten seconds.
 */
export function createLingerBudget(): PeriodBudget {
  return new PeriodBudget({
    amountMax: CHUNKS_MAX,
    resumedMax: CHUNKS_MAX,
    inNextPeriod: (run) => setTimeout(run, PERIOD_MS).unref(),
  });
}

/**
 * Reads and drops the rest of a request that already has its response, within the limits. Call this for every response
 * before its end is sent.
 *
 * A connection that is closed while the client still sends is reset, and the client may lose the response (RFC 9112, 9.6).
 * So if the response closes the connection, only the sending side is closed at first. If the rest arrives in time, the
 * connection serves the next request or closes; otherwise it is destroyed.
 *
 * @param network the client's network, which is one tenant of the budget
 */
export function lingerAfter(
  response: ServerResponse,
  limits: LingerLimits,
  budget: PeriodBudget,
  network: string,
): void {
  const { req: request } = response;
  if (request.complete || request.destroyed) return;
  const { socket } = request;
  const close = socket.destroySoon;
  let sizeBytes = 0;
  let isClosing = false;
  let paused: QueuedItem | null = null;
  const timer = setTimeout(cut, limits.timeoutMs);
  const idleTimer = setTimeout(cut, limits.idleTimeoutMs);

  const resume = (): void => void request.resume();
  function stop(): void {
    paused?.remove();
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
    if (sizeBytes > limits.sizeBytesMax) {
      cut();
      return;
    }
    paused = budget.spend(network, 1, resume);
    if (paused !== null) request.pause();
  }
  function onEnd(): void {
    stop();
    if (isClosing) socket.destroySoon();
  }

  // Node calls this to close a connection after its last response.
  socket.destroySoon = () => {
    isClosing = true;
    socket.end();
  };
  socket.once('close', stop);
  request.on('data', onData).once('end', onEnd);
  // Discards the buffered bytes. Without a reader, Node would drop the rest by itself and would not limit its size.
  while (request.read() !== null);
  request.resume();
}
