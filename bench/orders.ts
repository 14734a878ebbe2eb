import { connect } from 'node:net';
import { createInterface } from 'node:readline';
import { isMainThread } from 'node:worker_threads';

/**
 * The target's end of the line by which the bench asks it something (`order-line.ts`). It is a connection and not a channel to
 * the parent process, because a gateway is started by its launcher, which is its parent or was the same process before.
 */

/** Names the port of loopback at which the bench listens. */
export const ORDERS_PORT = 'FAREGATE_BENCH_ORDERS';

const port = process.env[ORDERS_PORT];
const isLauncher = process.argv[1]?.endsWith('faregate.js') === true;

/** Whether the bench waits for this process: not for the launcher, which the same module is loaded into, nor for threads. */
export const isTarget = port !== undefined && isMainThread && !isLauncher;
// What it starts itself is not what the bench waits for.
if (isTarget) delete process.env[ORDERS_PORT];

/** Replies to each order of the bench, and stops the process when the bench has closed the line, or is gone. */
export function replyToOrders<Order, Reply>(reply: (order: Order) => Promise<Reply>): void {
  const socket = connect(Number(port), '127.0.0.1');
  const lines = createInterface(socket);
  lines.on('line', (line) => {
    void reply(JSON.parse(line) as Order).then((replied) => socket.write(`${JSON.stringify(replied)}\n`));
  });
  // A line that is cut is closed next.
  for (const emitter of [socket, lines]) emitter.on('error', () => undefined);
  socket.on('close', () => process.kill(process.pid, 'SIGINT'));
  // It must not keep a gateway running that has stopped.
  socket.unref();
}
