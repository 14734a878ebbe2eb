import { NamedError } from './named-error.ts';

/** Errors of items in a batcher that their work did not cause. */

/** The work was not begun, so it certainly had no effect. */
export class NotBegunError extends NamedError {}

/** The queue is full: the database is slower than the incoming calls. */
export class BatcherFullError extends NotBegunError {
  constructor(limit: number) {
    super(`more than ${limit} items are waiting for the database`);
  }
}

/** The work was begun and exceeded its time limit; its outcome is unknown. */
export class LateError extends NamedError {
  constructor(message = 'the database did not respond in time') {
    super(message);
  }
}
