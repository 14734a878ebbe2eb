import { NamedError } from './named-error.ts';

/** Errors of a batcher for items whose own work did not cause them. */

/** The work was not started, so it certainly had no effect. */
export class NotBegunError extends NamedError {}

/** The queue is full, because the database is slower than the incoming calls. */
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
