import type { AddressInfo } from 'node:net';
import type { LoadOrder, LoadResult } from './order.ts';
import { createProvider } from './provider.ts';
import { callAtRate, callInTurns } from './rates.ts';
import { createStreamClients } from './streams.ts';

/**
 * The load generator: provider and clients in one process, which therefore share a clock. Reports the provider's address to its parent,
 * then a `LoadResult` for each `LoadOrder`. The argument is the provider's port.
 */
const provider = createProvider();
const streams = createStreamClients(provider);

provider.server.listen(Number(process.argv[2] ?? 0), '127.0.0.1', () => {
  process.send?.({ url: `http://127.0.0.1:${(provider.server.address() as AddressInfo).port}` });
});
process.on('message', (order: LoadOrder) => {
  void carryOut(order).then((result) => process.send?.(result));
});
process.on('disconnect', () => process.exit(0));

function carryOut(order: LoadOrder): Promise<LoadResult> {
  if ('call' in order) provider.give(order.call.response);
  switch (order.kind) {
    case 'closed':
      return callInTurns(order);
    case 'open':
      return callAtRate(order);
    case 'begin streams':
      return streams.begin(order);
    case 'watch streams':
      return streams.watch(order);
    case 'end streams':
      return streams.end();
  }
}
