import type { Database } from '../../src/db/database.ts';
import { sql } from './sql.ts';

/** Members of responses in the admin API and the account API that contain a secret. */
const NAMES: ReadonlySet<string> = new Set(['key', 'token', 'secret', 'link', 'code', 'codes', 'password']);
/** Shorter texts are not secrets. */
const LENGTH_MIN = 12;

/** The secrets in a response. */
export function secretsIn(value: unknown, isSecret = false): string[] {
  if (typeof value === 'string') return isSecret && value.length >= LENGTH_MIN ? [value] : [];
  if (typeof value !== 'object' || value === null) return [];
  if (Array.isArray(value)) return value.flatMap((item) => secretsIn(item, isSecret));
  return Object.entries(value).flatMap(([name, member]) => secretsIn(member, NAMES.has(name)));
}

/** The secrets that the audit log contains. Reads it once. */
export async function foundInChanges(database: Database, secrets: readonly string[]): Promise<string[]> {
  if (secrets.length === 0) return [];
  const changes = await sql<{ row: string; after: string }>(
    database,
    "select c::text as row, coalesce(c.after::text, '') as after from changes c",
  );
  return foundIn(changes.map(({ row, after }) => `${row}\n${after}`).join('\n'), secrets);
}

const START_LENGTH = 6;

/**
 * The secrets that a text contains. A test with hundreds of accounts has as many secrets, and searching the text for each took seconds,
 * so secrets with a common prefix, such as keys, are searched together.
 */
export function foundIn(text: string, secrets: readonly string[]): string[] {
  const found = new Set<string>();
  for (const [start, alike] of Map.groupBy(secrets, (secret) => secret.slice(0, START_LENGTH))) {
    const wanted = new Set(alike);
    const lengths = new Set(alike.map(({ length }) => length));
    for (let at = text.indexOf(start); at !== -1; at = text.indexOf(start, at + 1)) {
      for (const length of lengths) {
        const there = text.slice(at, at + length);
        if (wanted.has(there)) found.add(there);
      }
    }
  }
  return secrets.filter((secret) => found.has(secret));
}
