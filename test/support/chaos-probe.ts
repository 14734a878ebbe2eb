import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { isMainThread } from 'node:worker_threads';

/**
 * Loaded into a gateway's process (`--import`), without the program knowing it. Reports the resources in use: `GET /` at once, `GET
 * /settled` after garbage collection.
 */
export interface ProbeReading {
  readonly rss: number;
  /** Part of `rss`: V8's young generation. It grows to its limit and stays there, whatever is retained. */
  readonly young: number;
  readonly heapUsed: number;
  /** Memory outside the heap that is owned by objects on the heap, such as buffers. */
  readonly external: number;
  /** Resources that keep the event loop alive, such as `TCPSocketWrap`, counted by kind. */
  readonly resources: Readonly<Record<string, number>>;
}

if (isMainThread) {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  // V8 rejects compile caches of other flags, so the flag is reset.
  setFlagsFromString('--no-expose-gc');

  const server = createServer((request, response) => {
    if (request.url === '/settled') {
      // The second collection frees what the first one finalised.
      collect();
      collect();
    }
    const { rss, heapUsed, external } = process.memoryUsage();
    const young = getHeapSpaceStatistics().find((space) => space.space_name === 'new_space')!.physical_space_size;
    const resources: Record<string, number> = {};
    for (const name of process.getActiveResourcesInfo()) resources[name] = (resources[name] ?? 0) + 1;
    const reading: ProbeReading = { rss, young, heapUsed, external, resources };
    response.writeHead(200, { 'content-type': 'application/json', connection: 'close' });
    response.end(JSON.stringify(reading));
  });
  server.listen(0, '127.0.0.1', () => {
    process.stdout.write(`probe on http://127.0.0.1:${(server.address() as AddressInfo).port}\n`);
  });
  server.unref();
}
