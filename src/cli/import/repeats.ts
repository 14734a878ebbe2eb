import { createHash } from 'node:crypto';
import type { AdminClientError } from '../../api/management/admin-client-error.ts';
import { CliError } from '../command.ts';

/** What imports have in common that are checked before anything is made, and safe to repeat. */

/** The idempotency key of an account, by what stays the same of it at each repeat. */
export function importKey(...identity: readonly (string | null)[]): string {
  return `import-${createHash('sha256').update(JSON.stringify(identity)).digest('hex').slice(0, 32)}`;
}

/** Why an account was not imported; `otherwise`: if it was before, with other values. */
export function causeOf({ code, message }: AdminClientError, otherwise: string): string {
  return code === 'conflict_error' && message.includes('Idempotency-Key') ? otherwise : message;
}

const PROBLEMS_MAX = 20;

/** @throws CliError that names the first problems, if there are any. */
export function refuseProblems(problems: readonly string[], advice: string): void {
  if (problems.length === 0) return;
  const more = problems.length > PROBLEMS_MAX ? [`and ${problems.length - PROBLEMS_MAX} more`] : [];
  throw new CliError([...problems.slice(0, PROBLEMS_MAX), ...more, advice].join('\n'));
}
