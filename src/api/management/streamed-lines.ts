import { asHolder } from '../../db/lane-holder.ts';
import { GatewayError } from '../../errors/gateway-error.ts';
import type { TimeShares } from '../../lib/time-shares.ts';

/** Answers of one holder that are sent line by line at the same time; each keeps what it has read and its client has not. */
export const STREAMS_MAX = 4;

/** Sends what holders ask for line by line: each piece of it is made at its holder's turn, and only once the client wants it. */
export class StreamedLines {
  readonly #shares: TimeShares | null;
  readonly #open = new Map<string, number>();

  constructor(shares: TimeShares | null) {
    this.#shares = shares;
  }

  /**
   * The same pieces, of which each is made at the turn of the holder; `null`: nobody's.
   *
   * @throws GatewayError `rateLimitExceeded` where the holder has too many already.
   */
  atTurns(pieces: AsyncIterable<string>, holder: string | null): AsyncIterable<string> {
    if (holder === null || this.#shares === null) return pieces;
    const open = this.#open.get(holder) ?? 0;
    if (open >= STREAMS_MAX) {
      throw new GatewayError('rateLimitExceeded', {
        code: 'too_many_requests',
        message: `${STREAMS_MAX} answers of yours are being sent line by line already. Read them to their end first.`,
        headers: { 'retry-after': '1' },
      });
    }
    this.#open.set(holder, open + 1);
    return this.#made(pieces[Symbol.asyncIterator](), holder, this.#shares);
  }

  /** It is counted from now on, whether its client ever reads or not. */
  #made(pieces: AsyncIterator<string>, holder: string, shares: TimeShares): AsyncIterableIterator<string> {
    let isOpen = true;
    const close = (): void => {
      if (!isOpen) return;
      isOpen = false;
      const left = this.#open.get(holder)! - 1;
      if (left === 0) this.#open.delete(holder);
      else this.#open.set(holder, left);
    };
    return {
      [Symbol.asyncIterator]() {
        return this;
      },
      async next() {
        try {
          const next = await shares.goOn(holder, () => asHolder(holder, () => pieces.next()));
          if (next.done) close();
          return next;
        } catch (error) {
          close();
          throw error;
        }
      },
      async return() {
        close();
        await pieces.return?.();
        return { done: true, value: undefined };
      },
    };
  }
}
