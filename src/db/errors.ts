import { ForeseenError } from '../lib/foreseen-error.ts';
import { NamedError } from '../lib/named-error.ts';

/** Returns the SQLSTATE; `undefined` if the error, such as `EPIPE`, did not come from the server. */
export function sqlState(error: unknown): string | undefined {
  if (typeof error !== 'object' || error === null || !('code' in error)) return undefined;
  return typeof error.code === 'string' && /^[0-9A-DF-Z][0-9A-Z]{4}$/.test(error.code) ? error.code : undefined;
}

/** Whether the data of a statement, rather than the connection, caused the error (class 22: invalid value, class 23: constraint). */
export function isDataError(error: unknown): boolean {
  const state = sqlState(error);
  return state !== undefined && (state.startsWith('22') || state.startsWith('23'));
}

/**
 * A failed statement, described without values, so that it can be logged. The driver's errors contain values, such as response bodies,
 * names and key hashes, and the server's details quote rows.
 */
export class StatementError extends NamedError {
  readonly statement: string;
  /** The server's message, without values. */
  readonly reason: string;
  /** SQLSTATE, or the system's code for a connection failure, such as `ECONNRESET`. */
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

/** Replacements for messages that quote values, by SQLSTATE or its class. */
const WITHOUT_VALUES: readonly (readonly [state: string, words: string])[] = [
  ['21', 'the statement returned or changed more rows than it may'],
  ['22', 'the database refuses a value'],
  ['23', 'the database refuses a row'],
  ['42601', 'the statement cannot be parsed'],
  ['42602', 'a name in the statement is invalid'],
];

/** Of all other messages, only quoted names are kept: those of tables, columns, functions and files. */
const QUOTED = /"([^"]*)"/g;
const NAME = /^[a-zA-Z_][\w.$/]{0,62}$/;

interface DriverError {
  readonly message?: unknown;
  readonly code?: unknown;
  readonly constraint?: unknown;
  readonly table?: unknown;
  readonly column?: unknown;
}

/** Converts an error of the driver to one that is safe to log. */
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

/** SQLSTATEs of refused connections. Their messages quote only the name of the user or database. */
const REFUSED_CONNECTION = /^(28|3D)/;

function withoutQuotedValues(message: string, state: string | undefined): string {
  if (state !== undefined && REFUSED_CONNECTION.test(state)) return message;
  return message.replace(QUOTED, (quoted, name: string) => (NAME.test(name) ? quoted : '"…"'));
}

/** Runs work of the driver. Its errors are converted, so that they are safe to log. */
export async function asStatement<Result>(statement: string, work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    throw toStatementError(statement, error);
  }
}

/** Why a database cannot be used, and what to do about it. */
export class AdvisedError extends ForeseenError {
  readonly reason: string;
  readonly advice: string;
  constructor({ reason, advice }: { readonly reason: string; readonly advice: string }, options?: ErrorOptions) {
    super(`${reason} ${advice}`, options);
    this.reason = reason;
    this.advice = advice;
  }
}

/** The queue of a connection pool is full (`pools.ts`). */
export class PoolFullError extends NamedError {
  constructor(pool: string, waitingMax: number) {
    super(`more than ${waitingMax} statements are waiting for a connection of pool "${pool}"`);
  }
}

/** The connection failed (class 08), a resource is exhausted (53), the server is stopping (57), or a lock was not available. */
const CANNOT_SERVE = /^(08|53|57|55P03)/;

const UNIQUE_VIOLATION = '23505';
const LOCK_NOT_AVAILABLE = '55P03';
const DUPLICATE_SCHEMA = '42P06';

/** Maximum time that a batch of calls waits for a lock: longer than a batch of another node takes, much shorter than a call may wait. */
export const BATCH_LOCK_MAX_MS = 100;

export const isLockTimeout = (error: unknown): boolean => sqlState(error) === LOCK_NOT_AVAILABLE;

export const isUniqueViolation = (error: unknown): boolean => sqlState(error) === UNIQUE_VIOLATION;

export const isDuplicateSchema = (error: unknown): boolean => sqlState(error) === DUPLICATE_SCHEMA;

/** Whether the database could not be reached or did not respond. A retry may succeed. */
export function isUnavailable(error: unknown): boolean {
  const state = sqlState(error);
  if (state !== undefined) return CANNOT_SERVE.test(state);
  if (error instanceof StatementError) return true;
  return error instanceof Error && 'code' in error && /^E[A-Z]/.test(String(error.code));
}
