import type { Database } from '../../src/db/database.ts';
import { sql } from './sql.ts';

/** Members in which responds of the admin API and the account API show a secret. */
const NAMES: ReadonlySet<string> = new Set(['key', 'token', 'secret', 'link', 'code', 'codes', 'password']);
/** A shorter text is none. */
const LENGTH_MIN = 12;

/** The secrets that a response shows. */
export function secretsIn(value: unknown, isSecret = false): string[] {
  if (typeof value === 'string') return isSecret && value.length >= LENGTH_MIN ? [value] : [];
  if (typeof value !== 'object' || value === null) return [];
  if (Array.isArray(value)) return value.flatMap((item) => secretsIn(item, isSecret));
  return Object.entries(value).flatMap(([name, member]) => secretsIn(member, NAMES.has(name)));
}

/** Those of the texts that stand anywhere in the change log, which is read once. */
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
 * Those of the secrets that stand in a text. A test with hundreds of accounts has as many, and searching the text for each of them
 * took seconds: those that begin alike, as keys do, are searched for together.
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
