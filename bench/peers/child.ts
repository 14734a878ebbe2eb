import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import type { CallShape } from '../load/order.ts';
import { readTree } from '../process-tree.ts';
import { spawnPinned, TARGET_CORE } from '../processes.ts';
import type { Target } from '../targets.ts';

const STARTS_WITHIN_MS = 90_000;

/** Starts a peer on the core of the targets. Its usage comes from the operating system and includes its children. */
export async function startPeer(
  name: string,
  command: readonly string[],
  environment: Record<string, string>,
  call: CallShape,
): Promise<Target> {
  const child = spawnPinned(command, TARGET_CORE, environment, ['ignore', 'ignore', 'ignore']);
  try {
    await untilItListens(call.url, child);
  } catch (error) {
    child.kill('SIGKILL');
    throw new Error(`${name} did not start`, { cause: error });
  }
  return peerTarget(name, child.pid!, call, async () => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, 'exit');
    child.kill('SIGTERM');
    await ended;
  });
}

export function peerTarget(name: string, pid: number, call: CallShape, stop: () => Promise<void>): Target {
  return {
    name,
    version: '',
    call,
    stop,
    read: async () => ({ ...readTree(pid), inUseBytes: null, delayP99Ms: null, database: null }),
  };
}

async function untilItListens(url: string, child: ChildProcess): Promise<void> {
  const endMs = performance.now() + STARTS_WITHIN_MS;
  while (performance.now() < endMs) {
    if (child.exitCode !== null) throw new Error(`it ended with exit code ${child.exitCode}`);
    const responds = await fetch(url, { signal: AbortSignal.timeout(1_000) }).then(
      (response) => response.arrayBuffer().then(() => true),
      () => false,
    );
    if (responds) return;
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
  throw new Error(`it did not listen within ${STARTS_WITHIN_MS / 1_000} s`);
}
