import { Agent, type ClientRequest, type IncomingHttpHeaders, request } from 'node:http';
import { errorCatalogue } from '../../src/errors/catalogue.ts';
import type { PlannedCall } from './chaos-calls.ts';
import { isCut } from './client.ts';
import { until } from './until.ts';

/** What a client knows of its call. */
export interface Outcome {
  readonly call: PlannedCall;
  /** `null` if the client left before any response. */
  readonly status: number | null;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  /** `broken`: the connection ended before the response did, neither by the client's doing nor behind an error event. */
  readonly record: 'whole' | 'left' | 'broken';
}

/**
 * Whether the database took longer than an admission may wait, as on a machine that has much else to do: nothing was sent and nothing is
 * charged, the response says, and that the client may ask again.
 */
export function isOfLateDatabase({ status, text }: Outcome): boolean {
  const { databaseDown } = errorCatalogue;
  return status === databaseDown.status && text.includes(JSON.stringify(databaseDown.message));
}

export interface Clients {
  /**
   * Makes the calls, so many at a time; `onEnded` runs after each of them. A call for which the database was late is made again, and has an
   * outcome each time.
   */
  make(calls: readonly PlannedCall[], onEnded: (ended: number) => void): Promise<Outcome[]>;
  close(): void;
}

/** Clients that keep their connections, as SDKs do, on one or several nodes in turn. */
export function createClients(
  urls: readonly string[],
  concurrency: number,
  keyOf: (call: PlannedCall) => string,
): Clients {
  const agent = new Agent({ keepAlive: true });
  /** Those that leave before any response: when another call has ended, so that theirs are under way by then. */
  const aboutToLeave = new Set<() => void>();

  function make(call: PlannedCall): Promise<Outcome> {
    const { promise, resolve } = Promise.withResolvers<Outcome>();
    let status: number | null = null;
    let headers: IncomingHttpHeaders = {};
    const chunks: Buffer[] = [];
    let hasLeft = false;
    const leave = (): void => {
      hasLeft = true;
      outgoing.destroy();
    };
    const end = (isWhole: boolean): void => {
      aboutToLeave.delete(leave);
      const text = Buffer.concat(chunks).toString();
      const record = isWhole || (!hasLeft && isCut({ text })) ? 'whole' : hasLeft ? 'left' : 'broken';
      resolve({ call, status, headers, text, record });
    };
    const outgoing: ClientRequest = request(
      urls[call.number % urls.length] + call.kind.path,
      {
        method: 'POST',
        agent,
        headers: { authorization: `Bearer ${keyOf(call)}`, 'content-type': 'application/json' },
      },
      (incoming) => {
        status = incoming.statusCode!;
        headers = incoming.headers;
        let isWhole = false;
        incoming.on('data', (chunk: Buffer) => {
          chunks.push(chunk);
          if (call.leaving === 'streaming' && status === 200) leave();
        });
        // What comes after a client has left is thrown away, so that the end may be seen without what was before it.
        incoming.on('end', () => {
          isWhole = !hasLeft;
        });
        incoming.on('error', () => undefined);
        incoming.on('close', () => end(isWhole));
      },
    );
    outgoing.on('error', () => {
      if (status === null) end(false);
    });
    if (call.leaving === 'sent') outgoing.on('finish', () => aboutToLeave.add(leave));
    outgoing.end(call.body);
    return promise;
  }

  return {
    async make(calls, onEnded) {
      const outcomes: Outcome[] = [];
      const left = calls.values();
      let ended = 0;
      const work = async (): Promise<void> => {
        for (const call of left) {
          await until(async () => {
            const outcome = await make(call);
            outcomes.push(outcome);
            return !isOfLateDatabase(outcome);
          });
          for (const leave of aboutToLeave) leave();
          onEnded(++ended);
        }
      };
      await Promise.all(Array.from({ length: concurrency }, work));
      return outcomes;
    },
    close: () => agent.destroy(),
  };
}
