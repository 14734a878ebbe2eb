import { CliError } from '../../command.ts';
import type { ForeignDatabase } from '../foreign-books.ts';

/** Tested versions of LiteLLM, by their last migration. */
const TRIED: ReadonlyMap<string, string> = new Map([
  ['20260829000000_add_model_access_group_budget_table', 'LiteLLM 1.100.5'],
  ['20261009000000_add_credential_display_name', 'LiteLLM 1.106.12'],
  ['20261015000000_managed_object_end_user_id', 'LiteLLM 1.108.7'],
]);

/**
 * Returns the version of LiteLLM as text. Its database has no version, but the names of the migrations that were applied.
 *
 * @throws CliError if the import was not tested with this version
 */
export async function versionOf(database: ForeignDatabase): Promise<string> {
  const tried = `Tested: ${[...TRIED].map(([last, name]) => `${name} (migration ${last})`).join(', ')}.`;
  if (!(await database.columnsOf('LiteLLM_VerificationToken')).has('token')) {
    throw new CliError(`This is not a database of LiteLLM: it has no table LiteLLM_VerificationToken. ${tried}`);
  }
  if (!(await database.columnsOf('_prisma_migrations')).has('migration_name')) {
    throw new CliError(
      `The version of the database is unknown: it has no table _prisma_migrations. Start a tested LiteLLM on a copy of it. ${tried}`,
    );
  }
  const [row] = await database.select(
    `select max(migration_name) filter (where finished_at is not null) as last,
  cast(count(*) filter (where finished_at is null and rolled_back_at is null) as text) as open from _prisma_migrations`,
  );
  if (row!.open !== '0')
    throw new CliError('A migration of the database is incomplete. Let LiteLLM complete it first.');
  const version = TRIED.get(row!.last ?? '');
  if (version !== undefined) return `${version} by its last migration, ${row!.last}`;
  throw new CliError(`The last migration of the database is ${row!.last ?? 'none'}, which was not tested. ${tried}`);
}
