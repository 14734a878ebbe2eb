import pg from 'pg';
import type { Logger } from '../lib/logger.ts';
import type { Subscription } from './database.ts';
import { asStatement, toStatementError } from './errors.ts';
import { Connection } from './postgres-connections.ts';
import { type OptionedConfig, withOptions } from './postgres-options.ts';

/**
 * A connection that listens for notifications. A dead connection looks like an idle one, so it sends heartbeats to itself:
 *
 *     connected ──heartbeat received──▶ connected
 *         │  └──none for `silenceMaxMs`, or the connection ended──▶ down ──▶ connecting, repeatedly ──▶ connected
 *         └──closed
 *
 * Notifications arrive in commit order, so a received heartbeat proves that all earlier notifications have arrived.
 */
export interface NotificationTiming {
  readonly beatMs: number;
  /** Maximum age of the last received heartbeat. */
  readonly silenceMaxMs: number;
  readonly connectMaxMs: number;
  readonly reconnectMs: number;
  /** A monotonic clock. */
  readonly nowMs: () => number;
}

/** With these times, every node refuses a revoked key within five seconds: a heartbeat may be 2.5 s late. */
export const NOTIFICATION_TIMING: NotificationTiming = {
  beatMs: 1_500,
  silenceMaxMs: 4_000,
  connectMaxMs: 2_000,
  reconnectMs: 500,
  nowMs: () => performance.now(),
};

interface ListenOptions {
  readonly connection: OptionedConfig;
  readonly logger: Logger;
  readonly channel: string;
  readonly onPayload: (payload: string) => void;
  readonly onReconnect: () => void;
  readonly timing?: Partial<NotificationTiming> | undefined;
}

/** The commit of a heartbeat need not wait for the server's disk, because it changes nothing. */
const SETTINGS = ['-c', 'synchronous_commit=off'];

interface Listener {
  readonly client: Connection;
  /** Channel on which this connection sends heartbeats to itself. */
  readonly beatChannel: string;
  provenAtMs: number;
  isHeartbeatPending: boolean;
}

/** Listens on a channel. Reconnects whenever the connection is lost. @throws if the first connection fails */
export async function listen(options: ListenOptions): Promise<Subscription> {
  const { connection, logger, channel, onPayload, onReconnect } = options;
  const { beatMs, silenceMaxMs, connectMaxMs, reconnectMs, nowMs } = { ...NOTIFICATION_TIMING, ...options.timing };
  let listener: Listener | null = null;
  let isClosed = false;
  let retry: NodeJS.Timeout | undefined;

  const isProven = ({ provenAtMs }: Listener): boolean => nowMs() - provenAtMs < silenceMaxMs;

  /** Connects. `onListening` is called synchronously when notifications start to arrive. */
  async function connect(onListening: () => void): Promise<void> {
    const client = new Connection({
      ...withOptions(connection, SETTINGS),
      connectionTimeoutMillis: connectMaxMs,
      query_timeout: connectMaxMs,
    });
    let lost: unknown = null;
    const onLost = (error?: unknown): void => {
      lost ??= error ?? new Error('the server ended the connection');
      if (listener?.client === client) drop(lost);
    };
    client.on('error', onLost);
    client.on('end', () => onLost());
    client.on('notification', (message) => {
      if (listener?.client !== client) return;
      if (message.channel === listener.beatChannel) listener.provenAtMs = Number(message.payload);
      else if (message.channel === channel) onPayload(message.payload ?? '');
    });
    try {
      await asStatement('notifications.connect', () => client.connect());
      const provenAtMs = nowMs();
      const beatChannel = await listenOn(client, channel);
      if (lost !== null) throw toStatementError('notifications.connect', lost);
      const next: Listener = { client, beatChannel, provenAtMs, isHeartbeatPending: false };
      if (isClosed) {
        await client.end();
        return;
      }
      listener = next;
      onListening();
    } catch (error) {
      client.destroy();
      throw error;
    }
  }

  function beat(): void {
    if (listener === null) return;
    if (!isProven(listener)) {
      drop(new Error(`no heartbeat was received for ${silenceMaxMs} ms`));
      return;
    }
    if (listener.isHeartbeatPending) return;
    const beating = listener;
    beating.isHeartbeatPending = true;
    // A failure to send needs no handling: without heartbeats, the connection counts as lost.
    beating.client
      .query(`notify ${pg.escapeIdentifier(beating.beatChannel)}, '${nowMs()}'`)
      .catch(() => undefined)
      .finally(() => {
        beating.isHeartbeatPending = false;
      });
  }

  function drop(error: unknown): void {
    listener?.client.destroy();
    listener = null;
    if (isClosed) return;
    const err = toStatementError('notifications.listen', error);
    logger.warn({ err, channel }, 'notifications are interrupted; affected data is read from the database');
    reconnectLater();
  }

  function reconnectLater(): void {
    if (isClosed) return;
    retry = setTimeout(() => {
      const onListening = (): void => {
        logger.info({ channel }, 'notifications restored');
        onReconnect();
      };
      connect(onListening).catch(reconnectLater);
    }, reconnectMs);
    retry.unref();
  }

  await connect(() => undefined);
  const beats = setInterval(beat, beatMs);
  beats.unref();
  return {
    get isConnected() {
      return listener !== null && isProven(listener);
    },
    async close() {
      isClosed = true;
      clearInterval(beats);
      clearTimeout(retry);
      const last = listener;
      listener = null;
      await last?.client.end();
    },
  };
}

/** Listens on two channels, and returns the name of the second one, which only this connection uses. */
async function listenOn(client: Connection, channel: string): Promise<string> {
  const [found] = await client.ask('notifications.pid', 'select pg_backend_pid() as pid');
  const [row] = found!;
  const beatChannel = `${channel}_beat_${String((row as { pid: number }).pid)}`;
  for (const each of [beatChannel, channel]) {
    await client.ask('notifications.listen', `listen ${pg.escapeIdentifier(each)}`);
  }
  return beatChannel;
}
