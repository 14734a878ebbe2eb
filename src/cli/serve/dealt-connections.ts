import type { ChildProcess } from 'node:child_process';

/** What `node:cluster` sends a worker with a connection, and what the worker sends back once it has taken it or cannot. */
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
 * Watches the connections that the primary deals out to a worker. Returns a function that closes those which it has not taken, for when it
 * has ended: `node:cluster` keeps them open for ever, and their clients wait.
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
