import { ForeseenError } from '../../lib/foreseen-error.ts';

/** The local server cannot run here; the message says why, and what can be done. */
export class LocalServerError extends ForeseenError {
  /** @param problem a sentence without its full stop. */
  constructor(problem: string, remedy: string, cause?: unknown) {
    super(`${problem}. ${remedy}`, { cause });
  }
}

/** What always helps. */
export const USE_A_SERVER = 'use a PostgreSQL server that runs already, with DATABASE_URL';

/** This process is root, and cannot have the user that PostgreSQL needs. */
export class NoOtherUserError extends LocalServerError {
  constructor(cause: unknown) {
    super(
      'PostgreSQL does not run as root, and this process may not use another user: it is root without the capabilities CHOWN, SETUID ' +
        'and SETGID, in a user namespace without other users, or on a network drive that does not trust root',
      `Run as an ordinary user, or ${USE_A_SERVER}.`,
      cause,
    );
  }
}
