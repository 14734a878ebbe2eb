import { AdminClientError } from '../api/management/admin-client-error.ts';
import { DataDirInUseError, NoDatabaseError } from '../db/data-dir.ts';
import { StatementError } from '../db/errors.ts';
import { ForeseenError } from '../lib/foreseen-error.ts';
import { escapeText } from '../lib/plain-text.ts';

// Values of SQLSTATE with which PostgreSQL refuses a connection.
const INVALID_AUTHORIZATION = '28000';
const INVALID_PASSWORD = '28P01';
const UNKNOWN_DATABASE = '3D000';

const UNREACHED =
  'The database did not respond in time. It is down, overloaded, or not at the address in DATABASE_URL.';
/** The driver's messages about timeouts, which have no code. */
const DRIVER_TIMEOUT =
  /^(timeout expired|timeout exceeded when trying to connect|Connection terminated due to connection timeout)/;

/** Returns the text of an error: the message if it is expected; otherwise the stack, for a bug report. */
export function describeFailure(error: unknown): string {
  // Escapes line breaks, because a message of the API can quote stored text.
  if (error instanceof AdminClientError) return [error.message, ...error.details].map(escapeText).join('\n');
  if (error instanceof ForeseenError) return error.message;
  if (!(error instanceof Error)) return String(error);
  const words = error instanceof StatementError ? error.reason : error.message;
  switch ((error as NodeJS.ErrnoException).code) {
    case 'EADDRINUSE':
      return describeAddressInUse(error);
    case 'EACCES':
      return `Not permitted: ${words}`;
    case 'ECONNREFUSED':
      return 'The database refuses connections. Check DATABASE_URL and that PostgreSQL is running.';
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return `The host of the database is not known. Check DATABASE_URL: ${words}`;
    case 'ETIMEDOUT':
    case 'EHOSTUNREACH':
    case 'ENETUNREACH':
      return UNREACHED;
    case INVALID_AUTHORIZATION:
    case INVALID_PASSWORD:
      return `The database refuses the user or the password. Check DATABASE_URL: ${words}`;
    case UNKNOWN_DATABASE:
      return `The server has no such database. Check DATABASE_URL, or create it with createdb: ${words}`;
    default:
      if (DRIVER_TIMEOUT.test(words)) return UNREACHED;
      return error.stack ?? words;
  }
}

const UNREACHED_CODES = new Set([
  ...['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'ETIMEDOUT', 'EHOSTUNREACH', 'ENETUNREACH'],
  ...[INVALID_AUTHORIZATION, INVALID_PASSWORD, UNKNOWN_DATABASE],
]);

/** Whether the database could not be used: it is absent, does not respond, or belongs to another process. */
export function isUnreachable(error: unknown): boolean {
  if (error instanceof NoDatabaseError || error instanceof DataDirInUseError) return true;
  if (!(error instanceof Error) || error instanceof ForeseenError) return false;
  const words = error instanceof StatementError ? error.reason : error.message;
  return UNREACHED_CODES.has((error as NodeJS.ErrnoException).code ?? '') || DRIVER_TIMEOUT.test(words);
}

/** Describes an address in use: that of the gateway, or that of its metrics. */
function describeAddressInUse(error: Error): string {
  const { address, port } = error as Error & { readonly address?: string; readonly port?: number };
  const which = address === undefined || port === undefined ? '' : ` ${address}:${port}`;
  return (
    `The address${which} is in use. Stop the other program, or choose another port: with PORT, --port or server.port for the ` +
    'gateway, with server.metrics for its metrics.'
  );
}
