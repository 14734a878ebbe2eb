import type { Database } from '../../src/db/database.ts';

/** Members in which answers of the admin API and the account API show a secret. */
const NAMES: ReadonlySet<string> = new Set(['key', 'token', 'secret', 'link', 'code', 'codes', 'password']);
/** A shorter text is none. */
const LENGTH_MIN = 12;

/** The secrets that an answer shows. */
export function secretsIn(value: unknown, isSecret = false): string[] {
  if (typeof value === 'string') return isSecret && value.length >= LENGTH_MIN ? [value] : [];
  if (typeof value !== 'object' || value === null) return [];
  if (Array.isArray(value)) return value.flatMap((item) => secretsIn(item, isSecret));
  return Object.entries(value).flatMap(([name, member]) => secretsIn(member, NAMES.has(name)));
}

/** Those of the texts that stand anywhere in the change log. */
export async function foundInChanges(database: Database, secrets: readonly string[]): Promise<string[]> {
  if (secrets.length === 0) return [];
  const found = await database.query<{ secret: string }>(
    {
      name: 'test.search-changes',
      text: `select secret from jsonb_array_elements_text($1::jsonb) as v (secret)
where exists (select from changes c where position(secret in c::text) > 0 or position(secret in c.after::text) > 0)`,
    },
    [JSON.stringify(secrets)],
  );
  return found.map(({ secret }) => secret);
}
