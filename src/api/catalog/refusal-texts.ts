import type { CatalogProblem } from '../../config/revisions/catalog-reader.ts';
import type { DatedRevision, Revision } from '../../config/revisions/tables.ts';
import { GatewayError } from '../../errors/gateway-error.ts';

/** Why changes of the catalog are refused. */

/** Returns the error for a text of the catalog that has problems. */
export function unusable(problems: readonly CatalogProblem[], param: string): GatewayError {
  const lines = problems.map(
    ({ line, key, message }) => `${line > 0 ? `line ${line}: ` : ''}${key === '' ? '' : `${key}: `}${message}`,
  );
  return new GatewayError('invalidRequest', {
    message: 'The catalog cannot be used.',
    param,
    details: linesOf(lines),
  });
}

const LINES_MAX = 50;
const LINE_CHARS_MAX = 500;

/** The lines of an error response, which is small even if the catalog is large. */
export function linesOf(all: readonly string[]): string[] {
  const lines = all
    .slice(0, LINES_MAX)
    .map((line) => (line.length > LINE_CHARS_MAX ? `${line.slice(0, LINE_CHARS_MAX - 1)}…` : line));
  return all.length > lines.length ? [...lines, `and ${all.length - lines.length} more`] : lines;
}

export function outdatedText(base: number | null, last: Revision | null): string {
  if (last === null) return 'The catalog has changed since you read it: there is no revision any more.';
  const since = base === null ? 'you read it' : `revision ${base}`;
  return `The catalog has changed since ${since}: revision ${last.number} by ${last.createdBy} is the last one.`;
}

export function scheduledText({ number, inForceAtMs }: DatedRevision): string {
  const at = new Date(inForceAtMs).toISOString();
  return (
    `Revision ${number} comes into force at ${at}, later than this one would, and would undo it. Cancel revision ${number} first, or put this one in ` +
    'force at the same time or later.'
  );
}

/** Why a revision that is neither scheduled nor a draft cannot be canceled. */
export function refusedCancelText({ number, source, canceledAtMs }: Revision, last: Revision | null): string {
  if (source === 'file') return `Revision ${number} is a record of a configuration file.`;
  if (canceledAtMs !== null) return `Revision ${number} is already canceled.`;
  if (last !== null && last.number !== number) {
    return `Revision ${last.number} follows revision ${number} and contains its changes. Cancel revision ${last.number} first, or roll back.`;
  }
  return `Revision ${number} is in force, or will be in a few seconds. Roll back to an earlier revision instead.`;
}

export function refusedApplyText({ number, canceledAtMs, inForceAtMs }: Revision): string {
  if (canceledAtMs !== null) return `Revision ${number} is already canceled.`;
  return inForceAtMs === null
    ? `Revision ${number} was decided in the meantime.`
    : `Revision ${number} is not a draft. Roll back to it to put it in force again.`;
}
