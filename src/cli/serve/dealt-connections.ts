import type { ChildProcess } from 'node:child_process';

/** A message of `node:cluster`. `newconn` passes a connection to a worker, which acknowledges it when it has accepted or refused it. */
interface ClusterMessage {
  readonly act?: unknown;
  readonly seq?: unknown;
  readonly ack?: unknown;
}

interface ConnectionHandle {
  close(): void;
}

type Send = (message: ClusterMessage, handle?: ConnectionHandle, ...rest: unknown[]) => boolean;

/**
 * Tracks the connections that the primary passes to a worker.
 *
 * @returns a function that closes those that were not acknowledged when the worker exited; `node:cluster` would keep them open forever
 */
export function watchDealtConnections(worker: ChildProcess): () => void {
  const dealt = new Map<unknown, ConnectionHandle>();
  const watched = worker as unknown as { send: Send };
  const send = watched.send.bind(worker);
  watched.send = (message, handle, ...rest) => {
    if (message.act === 'newconn' && handle !== undefined) dealt.set(message.seq, handle);
    return send(message, handle, ...rest);
  };
  worker.on('internalMessage', ({ ack }: ClusterMessage) => void dealt.delete(ack));
  return () => {
    for (const handle of dealt.values()) handle.close();
    dealt.clear();
  };
}
