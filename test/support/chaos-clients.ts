import { Agent, type ClientRequest, type IncomingHttpHeaders, request } from 'node:http';
import { errorCatalogue } from '../../src/errors/catalogue.ts';
import type { PlannedCall } from './chaos-calls.ts';
import { isCut } from './client.ts';
import { until } from './until.ts';

/** The outcome of a call as its client knows it. */
export interface Outcome {
  readonly call: PlannedCall;
  /** `null` if the client left before any response. */
  readonly status: number | null;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  /** `broken`: the connection ended before the response, neither closed by the client nor after an error event. */
  readonly record: 'whole' | 'left' | 'broken';
}

/**
 * Whether the admission timed out, as it does on a busy machine: the response says that nothing was sent or charged, and that the client
 * may retry.
 */
export function isOfLateDatabase({ status, text }: Outcome): boolean {
  const { databaseDown } = errorCatalogue;
  return status === databaseDown.status && text.includes(JSON.stringify(databaseDown.message));
}

export interface Clients {
  /**
   * Makes the calls with a fixed concurrency; `onEnded` runs after each of them. A call whose admission timed out is repeated, and has
   * one outcome per try.
   */
  make(calls: readonly PlannedCall[], onEnded: (ended: number) => void): Promise<Outcome[]>;
  close(): void;
}

/** Clients that keep connections open, as SDKs do, to one or several nodes in turn. */
export function createClients(
  urls: readonly string[],
  concurrency: number,
  keyOf: (call: PlannedCall) => string,
): Clients {
  const agent = new Agent({ keepAlive: true });
  /** Clients that leave before any response. They leave when another call has ended, so that their own calls are in flight. */
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
        // Discards what arrives after the client left, but still notices the end.
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
