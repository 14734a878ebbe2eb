import { NamedError } from './named-error.ts';

/** This file has errors of a batcher that an item itself did not cause. */

/** The work was not started, so it had no effect. */
export class NotBegunError extends NamedError {}

/** Too many items wait: calls arrive faster than the database processes them. */
export class BatcherFullError extends NotBegunError {
  constructor(limit: number) {
    super(`more than ${limit} items are waiting for the database`);
  }
}

/** The work was started but exceeded its time limit, so its result is unknown. */
export class LateError extends NamedError {
  constructor(message = 'the database did not respond in time') {
    super(message);
  }
}
