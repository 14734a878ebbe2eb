import { createServer } from 'node:net';
import { listenOnLoopback } from './loopback.ts';

/** A loopback port that was free a moment ago. */
export async function freePort(): Promise<number> {
  const { port, close } = await listenOnLoopback(createServer());
  await close();
  return port;
}
