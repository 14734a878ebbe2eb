import type { ServerResponse } from 'node:http';
import type { QueuedItem } from '../lib/fair/fair-queue.ts';
import { PeriodBudget } from '../lib/fair/period-budget.ts';

/** Limits for reading the rest of a request after its response. `idleTimeoutMs`: maximum time without a byte. */
export interface LingerLimits {
  readonly sizeBytesMax: number;
  readonly timeoutMs: number;
  readonly idleTimeoutMs: number;
}

/** Limits with which a client can send a body of the usual maximum size completely before it reads the response. */
export const LINGER_LIMITS: LingerLimits = { sizeBytesMax: 64 * 2 ** 20, timeoutMs: 10_000, idleTimeoutMs: 5_000 };

/** Budget of a period. Together with the maximum of resumed connections, this is at most 8 chunks of 64 KiB per period, some 50 MB/s. */
const CHUNKS_MAX = 4;
const PERIOD_MS = 10;

/**
 * Creates the budget for all connections of a server whose rest is read. Otherwise, megabytes of refused uploads would delay new
 * connections, of which the server accepts only one per iteration of the event loop.
 */
export function createLingerBudget(): PeriodBudget {
  return new PeriodBudget({
    amountMax: CHUNKS_MAX,
    resumedMax: CHUNKS_MAX,
    inNextPeriod: (run) => setTimeout(run, PERIOD_MS).unref(),
  });
}

/**
 * Reads and discards the rest of a request, within the limits. Call this for every response before it ends.
 *
 * If the gateway closes a connection while the client still sends, the connection is reset, and the client may lose the response (RFC 9112,
 * 9.6). So only the sending side is closed until the rest has arrived. At a limit, the connection is destroyed.
 *
 * @param network the client's network, which is the tenant of the budget
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
  // Discards the bytes in the buffer. Without a reader, Node itself would discard the rest, without limits.
  while (request.read() !== null);
  request.resume();
}
