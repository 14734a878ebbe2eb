import { CliError } from '../../command.ts';
import type { ForeignDatabase } from '../foreign-books.ts';

/** The last migration of each LiteLLM that an import was tried with. */
const TRIED: ReadonlyMap<string, string> = new Map([
  ['20260829000000_add_model_access_group_budget_table', 'LiteLLM 1.100.5'],
  ['20261009000000_add_credential_display_name', 'LiteLLM 1.106.12'],
  ['20261015000000_managed_object_end_user_id', 'LiteLLM 1.108.7'],
]);

/**
 * In words, what the database is of. LiteLLM keeps no version in its database, but the names of the migrations that have made it.
 *
 * @throws CliError if an import was not tried with it.
 */
export async function versionOf(database: ForeignDatabase): Promise<string> {
  const tried = `Tried: ${[...TRIED].map(([last, name]) => `${name} (migration ${last})`).join(', ')}.`;
  if (!(await database.columnsOf('LiteLLM_VerificationToken')).has('token')) {
    throw new CliError(`This is no database of LiteLLM: there is no table LiteLLM_VerificationToken. ${tried}`);
  }
  if (!(await database.columnsOf('_prisma_migrations')).has('migration_name')) {
    throw new CliError(
      `The database does not tell its version: it has no table _prisma_migrations. Start a LiteLLM that was tried on a copy of it. ${tried}`,
    );
  }
  const [row] = await database.select(
    `select max(migration_name) filter (where finished_at is not null) as last,
  cast(count(*) filter (where finished_at is null and rolled_back_at is null) as text) as open from _prisma_migrations`,
  );
  if (row!.open !== '0') throw new CliError('A migration of the database has not ended. Let LiteLLM end it first.');
  const version = TRIED.get(row!.last ?? '');
  if (version !== undefined) return `${version} by its last migration, ${row!.last}`;
  throw new CliError(`The last migration of the database is ${row!.last ?? 'none'}, which was not tried. ${tried}`);
}
