import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { createInterface } from 'node:readline';
import { ORDERS_PORT } from './orders.ts';

/** The bench's end of the line to a target (`orders.ts`). */
export interface OrderLine {
  /** Environment of the target. */
  readonly environment: Readonly<Record<string, string>>;
  /**
   * Sends an order and returns the reply. One order at a time.
   *
   * @throws Error if the line closes before the reply
   */
  ask<Reply>(order: object): Promise<Reply>;
  /** The target then stops. */
  close(): void;
}

export async function openOrderLine(): Promise<OrderLine> {
  const server = createServer();
  await once(server.listen(0, '127.0.0.1'), 'listening');
  let isClosed = false;
  let socket: Socket | null = null;
  let onReply: ((line: string | null) => void) | null = null;
  let onConnected = (): void => undefined;
  const connected = new Promise<void>((resolve) => {
    onConnected = resolve;
  });

  function close(): void {
    isClosed = true;
    socket?.destroy();
    server.close();
    onConnected();
    onReply?.(null);
    onReply = null;
  }

  server.once('connection', (accepted: Socket) => {
    socket = accepted;
    const lines = createInterface(accepted);
    lines.on('line', (line) => {
      onReply?.(line);
      onReply = null;
    });
    // `close` follows.
    for (const emitter of [accepted, lines]) emitter.on('error', () => undefined);
    accepted.on('close', close);
    onConnected();
  });

  async function ask<Reply>(order: object): Promise<Reply> {
    await connected;
    const line = await new Promise<string | null>((resolve) => {
      if (isClosed) return resolve(null);
      onReply = resolve;
      socket!.write(`${JSON.stringify(order)}\n`);
    });
    if (line === null) throw new Error('a target of the bench ended early');
    return JSON.parse(line) as Reply;
  }
  return { environment: { [ORDERS_PORT]: String((server.address() as AddressInfo).port) }, ask, close };
}
