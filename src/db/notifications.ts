import pg from 'pg';
import type { Logger } from '../lib/logger.ts';
import type { Subscription } from './database.ts';
import { asStatement, toStatementError } from './errors.ts';
import { Connection } from './postgres-connections.ts';
import { type OptionedConfig, withOptions } from './postgres-options.ts';

/**
 * One connection that listens for notifications. A dead one delivers nothing and looks like an idle one, and the system may
 * take minutes to notice. So the connection notifies itself:
 *
 *     connected ──heartbeat came back──▶ connected
 *         │  └──none for `silenceMaxMs`, or the connection ended──▶ down ──▶ connecting, again and again ──▶ connected
 *         └──closed
 *
 * Notifications come in the order in which their transactions committed. So a heartbeat that has come back proves that
 * everything has arrived that was committed before it was sent.
 */
export interface NotificationTiming {
  readonly beatMs: number;
  /** A heartbeat that was sent longer ago proves nothing any more. */
  readonly silenceMaxMs: number;
  /** How long connecting may take, and each of its statements. */
  readonly connectMaxMs: number;
  readonly reconnectMs: number;
  /** Never goes back. */
  readonly nowMs: () => number;
}

/** A key that was revoked is refused within five seconds; a heartbeat may be two and a half late. */
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
  /** Runs when the connection is there again: notifications may be lost. */
  readonly onReconnect: () => void;
  readonly timing?: Partial<NotificationTiming> | undefined;
}

/** A heartbeat is a transaction that changes nothing: no commit of it has to wait for the server's disk. */
const SETTINGS = ['-c', 'synchronous_commit=off'];

interface Line {
  readonly client: Connection;
  /** Where its heartbeats come back; no other connection listens there. */
  readonly beatChannel: string;
  /** When the last heartbeat that came back was sent. */
  provenAtMs: number;
  isBeatUnderWay: boolean;
}

/** Listens on a channel; when the connection is lost, opening it is tried until it succeeds. @throws if it cannot be opened. */
export async function listen(options: ListenOptions): Promise<Subscription> {
  const { connection, logger, channel, onPayload, onReconnect } = options;
  const { beatMs, silenceMaxMs, connectMaxMs, reconnectMs, nowMs } = { ...NOTIFICATION_TIMING, ...options.timing };
  let line: Line | null = null;
  let isClosed = false;
  let retry: NodeJS.Timeout | undefined;

  const isProven = ({ provenAtMs }: Line): boolean => nowMs() - provenAtMs < silenceMaxMs;

  /** `onListening` runs in the same turn in which notifications begin to count. */
  async function connect(onListening: () => void): Promise<void> {
    const client = new Connection({
      ...withOptions(connection, SETTINGS),
      connectionTimeoutMillis: connectMaxMs,
      query_timeout: connectMaxMs,
    });
    let lost: unknown = null;
    const onLost = (error?: unknown): void => {
      lost ??= error ?? new Error('the server ended the connection');
      if (line?.client === client) drop(lost);
    };
    client.on('error', onLost);
    client.on('end', () => onLost());
    client.on('notification', (message) => {
      if (line?.client !== client) return;
      if (message.channel === line.beatChannel) line.provenAtMs = Number(message.payload);
      else if (message.channel === channel) onPayload(message.payload ?? '');
    });
    try {
      await asStatement('notifications.connect', () => client.connect());
      const provenAtMs = nowMs();
      const beatChannel = await listenOn(client, channel);
      if (lost !== null) throw toStatementError('notifications.connect', lost);
      const next: Line = { client, beatChannel, provenAtMs, isBeatUnderWay: false };
      if (isClosed) {
        await client.end();
        return;
      }
      line = next;
      onListening();
    } catch (error) {
      client.destroy();
      throw error;
    }
  }

  function beat(): void {
    if (line === null) return;
    if (!isProven(line)) {
      drop(new Error(`no heartbeat came back for ${silenceMaxMs} ms`));
      return;
    }
    if (line.isBeatUnderWay) return;
    const beating = line;
    beating.isBeatUnderWay = true;
    // If it fails, none comes back.
    beating.client
      .query(`notify ${pg.escapeIdentifier(beating.beatChannel)}, '${nowMs()}'`)
      .catch(() => undefined)
      .finally(() => {
        beating.isBeatUnderWay = false;
      });
  }

  function drop(error: unknown): void {
    line?.client.destroy();
    line = null;
    if (isClosed) return;
    const err = toStatementError('notifications.listen', error);
    logger.warn({ err, channel }, 'notifications do not arrive; what depends on them is read from the database');
    reconnectLater();
  }

  function reconnectLater(): void {
    if (isClosed) return;
    retry = setTimeout(() => {
      const onListening = (): void => {
        logger.info({ channel }, 'notifications arrive again');
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
      return line !== null && isProven(line);
    },
    async close() {
      isClosed = true;
      clearInterval(beats);
      clearTimeout(retry);
      const last = line;
      line = null;
      await last?.client.end();
    },
  };
}

/** Listens on the channel, and on one of this connection alone, whose name it returns. */
async function listenOn(client: Connection, channel: string): Promise<string> {
  const [found] = await client.ask('notifications.pid', 'select pg_backend_pid() as pid');
  const [row] = found!;
  const beatChannel = `${channel}_beat_${String((row as { pid: number }).pid)}`;
  for (const each of [beatChannel, channel]) {
    await client.ask('notifications.listen', `listen ${pg.escapeIdentifier(each)}`);
  }
  return beatChannel;
}
