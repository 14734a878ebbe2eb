import { ForeseenError } from '../../lib/foreseen-error.ts';

export class LocalServerError extends ForeseenError {
  /** @param problem without the final period */
  constructor(problem: string, remedy: string, cause?: unknown) {
    super(`${problem}. ${remedy}`, { cause });
  }
}

export const USE_A_SERVER = 'use an existing PostgreSQL server with DATABASE_URL';

/** This process is root and cannot switch to another user, but PostgreSQL refuses to run as root. */
export class NoOtherUserError extends LocalServerError {
  constructor(cause: unknown) {
    super(
      'PostgreSQL does not run as root, and this process cannot switch to another user: it is root without the capabilities CHOWN, SETUID ' +
        'and SETGID, in a user namespace without other users, or on a network drive that does not trust root',
      `Run as an ordinary user, or ${USE_A_SERVER}.`,
      cause,
    );
  }
}
