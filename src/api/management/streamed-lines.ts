import { asHolder } from '../../db/lane-holder.ts';
import { GatewayError } from '../../errors/gateway-error.ts';
import { AtATime } from '../../lib/fair/at-a-time.ts';
import type { TimeShares } from '../../lib/fair/time-shares.ts';

/** Responses of one holder that are sent line by line at the same time; each keeps what it has read and its client has not. */
export const STREAMS_MAX = 4;

/** Sends what holders ask for line by line: each piece of it is made at its holder's turn, and only once the client wants it. */
export class StreamedLines {
  readonly #shares: TimeShares | null;
  readonly #atOnceMax: number;
  readonly #open: AtATime;

  /** `atOnceMax`: responses of one holder at a time. */
  constructor(shares: TimeShares | null, atOnceMax = STREAMS_MAX) {
    this.#shares = shares;
    this.#atOnceMax = atOnceMax;
    this.#open = new AtATime(atOnceMax);
  }

  /**
   * The same pieces, of which the first is made now, at the turn of the request, and each further one at a turn of its own. `holder`:
   * whose turns; `null`: nobody's.
   *
   * @throws GatewayError `rateLimitExceeded` if the holder has too many already.
   */
  async begin(pieces: AsyncIterable<string>, holder: string | null): Promise<AsyncIterable<string>> {
    const shares = this.#shares;
    if (holder === null || shares === null) return pieces;
    const close = this.#open.take(holder);
    if (close === null) throw tooManyStreams(this.#atOnceMax);
    const all = pieces[Symbol.asyncIterator]();
    const next = closing(() => all.next(), close);
    const first = await next();
    let isFirst = true;
    // It is counted until it has ended or was left, whether its client ever reads or not.
    return {
      [Symbol.asyncIterator]: () => ({
        next() {
          if (!isFirst) return shares.goOn(holder, (time) => asHolder(holder, next, time));
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

/** The same step, which calls `close` when it has nothing more or fails. */
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
    message: `${atOnceMax} responses of yours are being sent line by line already. Read them to their end first.`,
    headers: { 'retry-after': '1' },
  });
}
