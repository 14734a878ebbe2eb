import { CliError } from '../../command.ts';
import type { ForeignDatabase } from '../foreign-books.ts';

/**
 * Which version of one-api or new-api a database is of. Neither keeps the version of its tables, and neither has ever taken a column
 * away, so the columns tell it: each generation has those of the one before and its own. One that has others is not read, because
 * nobody knows what they mean.
 */

export type Program = 'one-api' | 'new-api';

/** The tables whose columns tell the version. */
const TOLD_BY = ['users', 'tokens', 'redemptions'] as const;
type Told = (typeof TOLD_BY)[number];
/** The names of columns by table; a table that is not there has none. */
export type Columns = { readonly [Table in Told]: ReadonlySet<string> };

export async function readColumns(database: ForeignDatabase): Promise<Columns> {
  return {
    users: await database.columnsOf('users'),
    tokens: await database.columnsOf('tokens'),
    redemptions: await database.columnsOf('redemptions'),
  };
}

/** SQL: whether a row of a table is deleted. one-api keeps users that are, and no tokens. */
export function isDeleted(program: Program, table: 'users' | 'tokens'): string {
  if (program === 'new-api') return 'deleted_at is not null';
  return table === 'users' ? 'status = 3' : 'false';
}

interface Generation {
  /** The first version that has its columns. */
  readonly since: string;
  /** The version that an import was tried with; `null`: none, so it is refused. */
  readonly tried: string | null;
  readonly adds: { readonly [Table in Told]?: readonly string[] };
}

const USERS =
  `id username password display_name role status email github_id wechat_id access_token quota used_quota request_count
  group aff_code inviter_id`.split(/\s+/);
const TOKENS =
  'id user_id key status name created_time accessed_time expired_time remain_quota unlimited_quota used_quota'.split(
    ' ',
  );
const REDEMPTIONS = 'id user_id key status name quota created_time redeemed_time'.split(' ');

const GENERATIONS: { readonly [Name in Program]: readonly Generation[] } = {
  'one-api': [
    { since: 'v0.5.0', tried: null, adds: { users: USERS, tokens: TOKENS, redemptions: REDEMPTIONS } },
    { since: 'v0.6.5', tried: null, adds: { users: ['lark_id'], tokens: ['models', 'subnet'] } },
    { since: 'v0.6.9', tried: 'v0.6.10', adds: { users: ['oidc_id'] } },
  ],
  'new-api': [
    {
      since: 'v0.4.8.0',
      tried: null,
      adds: {
        users: [...USERS, ...'aff_count aff_quota aff_history deleted_at telegram_id linux_do_id setting'.split(' ')],
        tokens: [...TOKENS, ...'model_limits_enabled model_limits allow_ips group deleted_at'.split(' ')],
        redemptions: [...REDEMPTIONS, 'used_user_id', 'deleted_at'],
      },
    },
    { since: 'v0.5.2.3.1', tried: 'v0.6.3.1.1', adds: { users: ['oidc_id'] } },
    { since: 'v0.8.4.1', tried: 'v0.8.7.5', adds: { users: ['remark'], redemptions: ['expired_time'] } },
    { since: 'v0.8.8.0', tried: 'v0.9.24', adds: { users: ['stripe_customer'] } },
    { since: 'v0.9.25', tried: 'v0.10.0', adds: { users: ['discord_id'] } },
    { since: 'v0.10.1', tried: 'v0.12.15', adds: { tokens: ['cross_group_retry'] } },
    { since: 'v0.13.2', tried: 'v0.13.2', adds: { users: ['created_at', 'last_login_at'] } },
    { since: 'v1.0.0-rc.22', tried: 'v1.0.0-rc.22', adds: { users: ['auth_version'] } },
    { since: 'v1.0.0-rc.23', tried: 'v1.0.0-rc.24', adds: { tokens: ['auto_groups'] } },
  ],
};

/** What new-api leaves in the tables of one-api, if it was started on one, and does not look at. */
const INHERITED: Columns = {
  users: new Set(['lark_id']),
  tokens: new Set(['models', 'subnet']),
  redemptions: new Set(),
};

/**
 * The generation of a database, in words: its first version and that of the next one.
 *
 * @throws CliError if the tables are not those of a version that was tried; it says what was found.
 */
export function versionOf(program: Program, columns: Columns): string {
  const other: Program = program === 'one-api' ? 'new-api' : 'one-api';
  const at = generationOf(program, columns);
  if (at === null) {
    if (generationOf(other, columns) !== null) {
      throw new CliError(`This is a database of ${other}, not of ${program}: faregate import ${other}`);
    }
    throw new CliError(
      `This is no database of ${program} that can be read: ${strangeness(program, columns)}. ${tried(program)}`,
    );
  }
  const generation = GENERATIONS[program][at]!;
  const next = GENERATIONS[program][at + 1];
  const range =
    next === undefined ? `${generation.since} or later` : `${generation.since} or later, before ${next.since}`;
  if (generation.tried !== null) return range;
  throw new CliError(`This is a database of ${program} ${range}, by its columns. ${tried(program)}`);
}

/** The place of the generation whose columns these are, no more and no fewer. */
function generationOf(program: Program, columns: Columns): number | null {
  const rest = new Map(TOLD_BY.map((table) => [table, new Set(columns[table])]));
  for (const [at, { adds }] of GENERATIONS[program].entries()) {
    for (const table of TOLD_BY) {
      if (!(adds[table] ?? []).every((column) => rest.get(table)!.delete(column))) return null;
    }
    if (TOLD_BY.every((table) => isKnown(program, table, rest.get(table)!))) return at;
  }
  return null;
}

/** Whether nothing is left over that the program could mean something by. */
function isKnown(program: Program, table: Told, rest: ReadonlySet<string>): boolean {
  return rest.size === 0 || (program === 'new-api' && [...rest].every((column) => INHERITED[table].has(column)));
}

/** What distinguishes the tables from those of the latest version that is known. */
function strangeness(program: Program, columns: Columns): string {
  const absent = TOLD_BY.filter((table) => columns[table].size === 0);
  if (absent.length > 0) return `there is no table ${absent.join(', ')}`;
  const known = (table: Told) => GENERATIONS[program].flatMap(({ adds }) => adds[table] ?? []);
  const namesOf = (columnsOf: (table: Told) => readonly string[]): string[] =>
    TOLD_BY.flatMap((table) => columnsOf(table).map((column) => `${table}.${column}`));
  const unknown = namesOf((table) => [...columns[table]].filter((name) => !known(table).includes(name)));
  if (unknown.length > 0) return `it has columns that no version known here has (${unknown.join(', ')})`;
  const lacking = namesOf((table) => known(table).filter((name) => !columns[table].has(name)));
  return `its columns are those of no version; it lacks ${lacking.join(', ')}`;
}

function tried(program: Program): string {
  const versions = GENERATIONS[program].flatMap((generation) => generation.tried ?? []);
  return `Tried are ${program} ${versions.join(', ')}, and what has their columns. Bring it up to one of these first: it changes its own tables when it starts.`;
}
