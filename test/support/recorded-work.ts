import type { TestContext } from 'node:test';
import { MessagePort } from 'node:worker_threads';
import type { Order, Work } from '../../src/db/embedded-messages.ts';

/** What the main thread orders of the thread of the embedded database from now on. */
export function recordWork(t: TestContext): Work[] {
  const orders: Work[] = [];
  const real = MessagePort.prototype.postMessage;
  t.mock.method(MessagePort.prototype, 'postMessage', function (this: MessagePort, ...given: Parameters<typeof real>) {
    const order = given[0] as Order;
    if (order.kind === 'run') orders.push(order);
    return real.apply(this, given);
  });
  return orders;
}
