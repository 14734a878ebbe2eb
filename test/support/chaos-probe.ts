import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { isMainThread } from 'node:worker_threads';

/**
 * Loaded into a gateway's process (`--import`), beside the program and unknown to it: reports what the process has in
 * use: `GET /` as it is and `GET /settled` after a collection of everything that is garbage.
 */
export interface ProbeReading {
  /** Bytes. */
  readonly rss: number;
  /** The part of `rss` where V8 puts what is new. It grows to its limit and stays there, whatever is kept. */
  readonly young: number;
  readonly heapUsed: number;
  /** Memory outside the heap that objects of the heap own, such as buffers. */
  readonly external: number;
  /** What keeps the event loop busy, such as `TCPSocketWrap`, counted by kind. */
  readonly resources: Readonly<Record<string, number>>;
}

if (isMainThread) {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  // Nothing that was compiled without it would be taken.
  setFlagsFromString('--no-expose-gc');

  const server = createServer((request, response) => {
    if (request.url === '/settled') {
      // What the first one finalises the second one frees.
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
