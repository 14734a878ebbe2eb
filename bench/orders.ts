import { connect } from 'node:net';
import { createInterface } from 'node:readline';
import { isMainThread } from 'node:worker_threads';

/**
 * The target's end of the line for orders of the bench (`order-line.ts`). It is a socket instead of a channel to the parent process,
 * because the launcher that starts a gateway may be its parent or have been the same process.
 */

/** The loopback port on which the bench listens. */
export const ORDERS_PORT = 'FAREGATE_BENCH_ORDERS';

const port = process.env[ORDERS_PORT];
const isLauncher = process.argv[1]?.endsWith('faregate.js') === true;

/** Whether the bench waits for this process: not for the launcher, into which the same module is loaded, nor for threads. */
export const isTarget = port !== undefined && isMainThread && !isLauncher;
// Child processes must not connect to the bench.
if (isTarget) delete process.env[ORDERS_PORT];

/** Replies to each order, and stops the process when the bench closes the line or exits. */
export function replyToOrders<Order, Reply>(reply: (order: Order) => Promise<Reply>): void {
  const socket = connect(Number(port), '127.0.0.1');
  const lines = createInterface(socket);
  lines.on('line', (line) => {
    void reply(JSON.parse(line) as Order).then((replied) => socket.write(`${JSON.stringify(replied)}\n`));
  });
  // `close` follows.
  for (const emitter of [socket, lines]) emitter.on('error', () => undefined);
  socket.on('close', () => process.kill(process.pid, 'SIGINT'));
  // Does not keep a stopped gateway alive.
  socket.unref();
}
