import { asTenant } from '../../db/current-tenant.ts';
import { GatewayError } from '../../errors/gateway-error.ts';
import { AtATime } from '../../lib/fair/at-a-time.ts';
import type { TimeShares } from '../../lib/fair/time-shares.ts';

/** Maximum number of concurrent streams of one caller. Each one has data in memory that its client has not read yet. */
export const STREAMS_MAX = 4;

/** Streams lines. A chunk is produced once the client needs it. The work for it waits in the queue of the caller. */
export class StreamedLines {
  readonly #shares: TimeShares | null;
  readonly #atOnceMax: number;
  readonly #open: AtATime;

  constructor(shares: TimeShares | null, atOnceMax = STREAMS_MAX) {
    this.#shares = shares;
    this.#atOnceMax = atOnceMax;
    this.#open = new AtATime(atOnceMax);
  }

  /**
   * Begins a stream. Its first chunk is produced now, in the slot of the request. `tenant`: the caller; `null`: no queue.
   * @throws GatewayError `rateLimitExceeded` if the caller has too many streams
   */
  async begin(chunks: AsyncIterable<string>, tenant: string | null): Promise<AsyncIterable<string>> {
    const shares = this.#shares;
    if (tenant === null || shares === null) return chunks;
    const close = this.#open.take(tenant);
    if (close === null) throw tooManyStreams(this.#atOnceMax);
    const all = chunks[Symbol.asyncIterator]();
    const next = closing(() => all.next(), close);
    const first = await next();
    let isFirst = true;
    // The stream counts until it ends or is abandoned, even if its client reads nothing.
    return {
      [Symbol.asyncIterator]: () => ({
        next() {
          if (!isFirst) return shares.goOn(tenant, (time) => asTenant(tenant, next, time));
          isFirst = false;
          return Promise.resolve(first);
        },
        async return() {
          close();
          await all.return?.();
          return { done: true, value: undefined };
        },
      }),
    };
  }
}

function closing(
  step: () => Promise<IteratorResult<string>>,
  close: () => void,
): () => Promise<IteratorResult<string>> {
  return async () => {
    try {
      const made = await step();
      if (made.done) close();
      return made;
    } catch (error) {
      close();
      throw error;
    }
  };
}

function tooManyStreams(atOnceMax: number): GatewayError {
  return new GatewayError('rateLimitExceeded', {
    code: 'too_many_requests',
    message: `You have ${atOnceMax} streamed responses open. Read them to the end first.`,
    headers: { 'retry-after': '1' },
  });
}
