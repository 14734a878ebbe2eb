import type { ChildProcess } from 'node:child_process';

/**
 * A message of `node:cluster` that passes a connection to a worker. The worker acknowledges it after it has accepted or refused the
 * connection.
 */
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
 * @returns a function that closes the connections that the worker has not acknowledged. Call it when the worker has exited: `node:cluster`
 * keeps these connections open forever, and their clients wait.
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
