import type { ServerResponse } from 'node:http';
import type { QueuedItem } from '../lib/fair/fair-queue.ts';
import { PeriodBudget } from '../lib/fair/period-budget.ts';

/** Limits for reading the remainder of a request after its response: bytes, total time, and time without a byte. */
export interface LingerLimits {
  readonly sizeBytesMax: number;
  readonly timeoutMs: number;
  readonly idleTimeoutMs: number;
}

/**
 * Sufficient for a body of the usual maximum size from a client that sends it completely before it reads. A slower client has had time to
 * read.
 */
export const LINGER_LIMITS: LingerLimits = { sizeBytesMax: 64 * 2 ** 20, timeoutMs: 10_000, idleTimeoutMs: 5_000 };

/** Both the budget and the number of resumed tasks per period. At most 8 chunks of 64 KiB are then read in a period: some 50 MB/s. */
const CHUNKS_MAX = 4;
const PERIOD_MS = 10;

/**
 * Creates a budget for all lingering connections of a server. Without it, the server may read megabytes from one connection in one
 * iteration of the event loop, and it accepts only one new connection per iteration: two hundred refused uploads once delayed new
 * connections by ten seconds.
 */
export function createLingerBudget(): PeriodBudget {
  return new PeriodBudget({
    amountMax: CHUNKS_MAX,
    resumedMax: CHUNKS_MAX,
    inNextPeriod: (run) => setTimeout(run, PERIOD_MS).unref(),
  });
}

/**
 * Reads and discards the remainder of a request whose response is complete, within the limits. Call this for every response before the
 * response ends.
 *
 * A connection that is closed while the client still sends is reset, and the client may lose the response (RFC 9112, 9.6). Therefore, if
 * the response closes the connection, only the sending side is closed at first. If the remainder arrives in time, the connection serves the
 * next request or closes; otherwise it is destroyed.
 *
 * @param network the client's network, which shares the budget as one tenant
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
  // Discards the buffered bytes. Without a reader, Node would read and discard the remainder itself, without a limit.
  while (request.read() !== null);
  request.resume();
}
