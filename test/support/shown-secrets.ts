import type { Database } from '../../src/db/database.ts';

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

/**
 * Those of the texts that stand anywhere in the change log. The log is read once: a test with hundreds of accounts has as many
 * secrets, and searching every row for each of them took seconds.
 */
export async function foundInChanges(database: Database, secrets: readonly string[]): Promise<string[]> {
  if (secrets.length === 0) return [];
  const changes = await database.query<{ row: string; after: string }>({
    name: 'test.read-changes',
    text: "select c::text as row, coalesce(c.after::text, '') as after from changes c",
  });
  const text = changes.map(({ row, after }) => `${row}\n${after}`).join('\n');
  return secrets.filter((secret) => text.includes(secret));
}
