import { ForeseenError } from '../lib/foreseen-error.ts';
import { NamedError } from '../lib/named-error.ts';

/** What errors of the database mean and may say. */

/** SQLSTATE of a database error, or `undefined` if the error did not come from a statement: such as `EPIPE`. */
export function sqlState(error: unknown): string | undefined {
  if (typeof error !== 'object' || error === null || !('code' in error)) return undefined;
  return typeof error.code === 'string' && /^[0-9A-DF-Z][0-9A-Z]{4}$/.test(error.code) ? error.code : undefined;
}

/** True where the data of a statement was at fault (class 22: bad value, class 23: constraint), not the connection. */
export function isDataError(error: unknown): boolean {
  const state = sqlState(error);
  return state !== undefined && (state.startsWith('22') || state.startsWith('23'));
}

/**
 * A statement that failed. It has the name of the statement and nothing of its values: what the drivers throw carries the
 * text of the statement, in which values stand, and the server's details quote rows. Errors are logged whole, and values are
 * the bodies of responses, names and hashes of keys.
 */
export class StatementError extends NamedError {
  /** The name of the statement, or of what was asked of the database. */
  readonly statement: string;
  /** The words of the server, without values. */
  readonly reason: string;
  /** SQLSTATE, or what the system calls the failure of a connection, such as `ECONNRESET`. */
  readonly code: string | undefined;
  readonly constraint: string | undefined;

  constructor(statement: string, reason: string, code: string | undefined, constraint: string | undefined) {
    super(`${statement}: ${reason}`);
    this.statement = statement;
    this.reason = reason;
    if (code !== undefined) this.code = code;
    if (constraint !== undefined) this.constraint = constraint;
  }
}

/** Errors whose message quotes values, by SQLSTATE or its class, and what is said in its place. */
const WITHOUT_VALUES: readonly (readonly [state: string, words: string])[] = [
  ['21', 'the database refuses the number of rows'],
  ['22', 'the database refuses a value'],
  ['23', 'the database refuses a row'],
  ['42601', 'the statement cannot be parsed'],
  ['42602', 'the statement has a wrong name'],
];

/** What is quoted in the other messages: names of tables, columns, functions, files. Of anything else, nothing is said. */
const QUOTED = /"([^"]*)"/g;
const NAME = /^[a-zA-Z_][\w.$/]{0,62}$/;

interface DriverError {
  readonly message?: unknown;
  readonly code?: unknown;
  readonly constraint?: unknown;
  readonly table?: unknown;
  readonly column?: unknown;
}

/** The error of a driver as one that may be logged. */
export function toStatementError(statement: string, error: unknown): StatementError {
  if (error instanceof StatementError) return error;
  if (typeof error !== 'object' || error === null) return new StatementError(statement, 'failed', undefined, undefined);
  const { message, code, constraint, table, column } = error as DriverError;
  const state = sqlState(error);
  const words = state === undefined ? undefined : WITHOUT_VALUES.find(([start]) => state.startsWith(start))?.[1];
  const places = Object.entries({ constraint, table, column }).flatMap(([kind, name]) =>
    typeof name === 'string' && NAME.test(name) ? [`${kind} ${name}`] : [],
  );
  const where = places.length === 0 ? '' : ` (${places.join(', ')})`;
  return new StatementError(
    statement,
    words === undefined ? withoutQuotedValues(String(message || code || 'failed'), state) : words + where,
    typeof code === 'string' ? code : undefined,
    typeof constraint === 'string' && NAME.test(constraint) ? constraint : undefined,
  );
}

/** Of a connection that is refused, the message names the user or the database. */
const REFUSED_CONNECTION = /^(28|3D)/;

function withoutQuotedValues(message: string, state: string | undefined): string {
  if (state !== undefined && REFUSED_CONNECTION.test(state)) return message;
  return message.replace(QUOTED, (quoted, name: string) => (NAME.test(name) ? quoted : '"…"'));
}

/** Runs work of a driver, whose errors leave as `StatementError`. */
export async function asStatement<Result>(statement: string, work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    throw toStatementError(statement, error);
  }
}

/** What stands in the way of using a database, and what to do about it. */
export class AdvisedError extends ForeseenError {
  readonly reason: string;
  readonly advice: string;
  constructor({ reason, advice }: { readonly reason: string; readonly advice: string }, options?: ErrorOptions) {
    super(`${reason} ${advice}`, options);
    this.reason = reason;
    this.advice = advice;
  }
}

/** More statements wait for connections that are not those of calls than may (`lanes.ts`). */
export class LaneFullError extends NamedError {
  constructor(lane: string, waitingMax: number) {
    super(`more than ${waitingMax} statements wait for a connection of "${lane}"`);
  }
}

/** What a server says that cannot serve: its connection broke (08), it is full (53), stops (57), or a lock was not free. */
const CANNOT_SERVE = /^(08|53|57|55P03)/;

const UNIQUE_VIOLATION = '23505';
const LOCK_NOT_AVAILABLE = '55P03';
const DUPLICATE_SCHEMA = '42P06';

/** How long a batch of calls waits for a lock: far longer than another node's batch takes, far shorter than its calls may wait. */
export const BATCH_LOCK_MAX_MS = 100;

/** True if a statement was given up because a lock was not free in time. */
export const isLockTimeout = (error: unknown): boolean => sqlState(error) === LOCK_NOT_AVAILABLE;

/** True if a row of the same value was there already, which an index lets be there once. */
export const isUniqueViolation = (error: unknown): boolean => sqlState(error) === UNIQUE_VIOLATION;

/** True if a schema of the same name was there already. */
export const isDuplicateSchema = (error: unknown): boolean => sqlState(error) === DUPLICATE_SCHEMA;

/** True where the database could not be asked, or did not respond: another attempt, a little later, may succeed. */
export function isUnavailable(error: unknown): boolean {
  const state = sqlState(error);
  if (state !== undefined) return CANNOT_SERVE.test(state);
  if (error instanceof StatementError) return true;
  return error instanceof Error && 'code' in error && /^E[A-Z]/.test(String(error.code));
}
