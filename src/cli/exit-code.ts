import { CommanderError } from 'commander';
import { AdminClientError } from '../api/management/admin-client-error.ts';
import { CliError, NotFoundError, UnreachableError, UsageError } from './command.ts';
import { isUnreachable } from './failure.ts';

/** Exit codes of all commands. */
export const EXIT = { done: 0, failed: 1, usage: 2, notFound: 3, refused: 4, unreachable: 5 } as const;

type ExitCode = (typeof EXIT)[keyof typeof EXIT];

/** The list of exit codes in `faregate --help`. */
export const EXIT_CODES_HELP = `Exit codes:
  0  done
  1  the command failed, or found something wrong, such as \`check\`, \`doctor\` and \`audit\`
  2  wrong usage: an unknown command or option, or a value that is not valid
  3  not found: there is no such account, user, key, call, ...
  4  refused: the token lacks a right, or the state of the object does not allow the change
  5  unreachable: no gateway responds, and no database can be used`;

/** Returns the exit code for an error. The same kind of failure has the same code, whether the command or the gateway found it. */
export function exitCodeOf(error: unknown): ExitCode {
  if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.done : EXIT.usage;
  if (error instanceof UsageError) return EXIT.usage;
  if (error instanceof NotFoundError) return EXIT.notFound;
  if (error instanceof UnreachableError) return EXIT.unreachable;
  if (error instanceof AdminClientError) return exitCodeOfStatus(error.status);
  // An error that only adds advice to another one is of the same kind.
  if (error instanceof CliError && error.cause instanceof Error) return exitCodeOf(error.cause);
  return isUnreachable(error) ? EXIT.unreachable : EXIT.failed;
}

function exitCodeOfStatus(status: number | null): ExitCode {
  if (status === null) return EXIT.unreachable;
  if (status === 404) return EXIT.notFound;
  if ([401, 403, 409, 422, 429].includes(status)) return EXIT.refused;
  if ([502, 503, 504].includes(status)) return EXIT.unreachable;
  return status < 500 ? EXIT.usage : EXIT.failed;
}
