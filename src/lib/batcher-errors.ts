import { NamedError } from './named-error.ts';

/** Errors of a batcher that the item itself did not cause. */

/** The work was not started, so it had no effect. */
export class NotBegunError extends NamedError {}

/** Too many items are waiting: calls arrive faster than the database processes them. */
export class BatcherFullError extends NotBegunError {
  constructor(limit: number) {
    super(`more than ${limit} items are waiting for the database`);
  }
}

/** The work was started and exceeded its time limit. Its outcome is unknown. */
export class LateError extends NamedError {
  constructor(message = 'the database did not respond in time') {
    super(message);
  }
}
