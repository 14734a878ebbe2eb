import { NamedError } from './named-error.ts';

/** Why items of a batcher fail that their work is not to blame for. */

/** The work was never begun, so nothing came of it for certain. */
export class NotBegunError extends NamedError {}

/** The queue has reached its limit: the database is slower than the calls that come in. */
export class BatcherFullError extends NotBegunError {
  constructor(limit: number) {
    super(`more than ${limit} items are waiting for the database`);
  }
}

/** The work was begun and took too long; its outcome is unknown. */
export class LateError extends NamedError {
  constructor(message = 'the database did not respond in time') {
    super(message);
  }
}
