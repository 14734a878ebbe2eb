import { CliError } from '../../command.ts';
import type { ForeignDatabase } from '../foreign-books.ts';

export type Program = 'one-api' | 'new-api';

const TABLES = ['users', 'tokens', 'redemptions'] as const;
type Table = (typeof TABLES)[number];
export type Columns = { readonly [Name in Table]: ReadonlySet<string> };

export async function readColumns(database: ForeignDatabase): Promise<Columns> {
  return {
    users: await database.columnsOf('users'),
    tokens: await database.columnsOf('tokens'),
    redemptions: await database.columnsOf('redemptions'),
  };
}

/** SQL: the condition for deleted rows. one-api keeps deleted users, but not deleted tokens. */
export function isDeleted(program: Program, table: 'users' | 'tokens'): string {
  if (program === 'new-api') return 'deleted_at is not null';
  return table === 'users' ? 'status = 3' : 'false';
}

/**
 * Versions with the same columns. The programs store no version of their tables and never drop a column, so the columns identify it: each
 * generation has those of all earlier ones and adds its own.
 */
interface Generation {
  /** First version with these columns. */
  readonly since: string;
  /** Version with which the import was tested; a generation without one is refused. */
  readonly tested: string | null;
  readonly adds: { readonly [Name in Table]?: readonly string[] };
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
    { since: 'v0.5.0', tested: null, adds: { users: USERS, tokens: TOKENS, redemptions: REDEMPTIONS } },
    { since: 'v0.6.5', tested: null, adds: { users: ['lark_id'], tokens: ['models', 'subnet'] } },
    { since: 'v0.6.9', tested: 'v0.6.10', adds: { users: ['oidc_id'] } },
  ],
  'new-api': [
    {
      since: 'v0.4.8.0',
      tested: null,
      adds: {
        users: [...USERS, ...'aff_count aff_quota aff_history deleted_at telegram_id linux_do_id setting'.split(' ')],
        tokens: [...TOKENS, ...'model_limits_enabled model_limits allow_ips group deleted_at'.split(' ')],
        redemptions: [...REDEMPTIONS, 'used_user_id', 'deleted_at'],
      },
    },
    { since: 'v0.5.2.3.1', tested: 'v0.6.3.1.1', adds: { users: ['oidc_id'] } },
    { since: 'v0.8.4.1', tested: 'v0.8.7.5', adds: { users: ['remark'], redemptions: ['expired_time'] } },
    { since: 'v0.8.8.0', tested: 'v0.9.24', adds: { users: ['stripe_customer'] } },
    { since: 'v0.9.25', tested: 'v0.10.0', adds: { users: ['discord_id'] } },
    { since: 'v0.10.1', tested: 'v0.12.15', adds: { tokens: ['cross_group_retry'] } },
    { since: 'v0.13.2', tested: 'v0.13.2', adds: { users: ['created_at', 'last_login_at'] } },
    { since: 'v1.0.0-rc.22', tested: 'v1.0.0-rc.22', adds: { users: ['auth_version'] } },
    { since: 'v1.0.0-rc.23', tested: 'v1.0.0-rc.24', adds: { tokens: ['auto_groups'] } },
  ],
};

/** Columns of one-api that new-api keeps, but ignores, if it is started on a database of one-api. */
const INHERITED: Columns = {
  users: new Set(['lark_id']),
  tokens: new Set(['models', 'subnet']),
  redemptions: new Set(),
};

/**
 * Returns the generation of a database as text: its first version, and the first version of the next one.
 *
 * @throws CliError if the columns are not those of a tested version
 */
export function versionOf(program: Program, columns: Columns): string {
  const other: Program = program === 'one-api' ? 'new-api' : 'one-api';
  const at = generationOf(program, columns);
  if (at === null) {
    if (generationOf(other, columns) !== null) {
      throw new CliError(`This is a database of ${other}, not of ${program}: faregate import ${other}`);
    }
    throw new CliError(
      `This is not a database of ${program} that can be read: ${differenceOf(program, columns)}. ${describeTested(program)}`,
    );
  }
  const generation = GENERATIONS[program][at]!;
  const next = GENERATIONS[program][at + 1];
  const range =
    next === undefined ? `${generation.since} or later` : `${generation.since} or later, before ${next.since}`;
  if (generation.tested !== null) return range;
  throw new CliError(`This is a database of ${program} ${range}, by its columns. ${describeTested(program)}`);
}

/** Returns the index of the generation with exactly these columns; `null`: none has. */
function generationOf(program: Program, columns: Columns): number | null {
  const rest = new Map(TABLES.map((table) => [table, new Set(columns[table])]));
  for (const [at, { adds }] of GENERATIONS[program].entries()) {
    for (const table of TABLES) {
      if (!(adds[table] ?? []).every((column) => rest.get(table)!.delete(column))) return null;
    }
    if (TABLES.every((table) => isKnown(program, table, rest.get(table)!))) return at;
  }
  return null;
}

/** Whether the program ignores all of these columns. */
function isKnown(program: Program, table: Table, rest: ReadonlySet<string>): boolean {
  return rest.size === 0 || (program === 'new-api' && [...rest].every((column) => INHERITED[table].has(column)));
}

/** Describes how the columns differ from those of known versions. */
function differenceOf(program: Program, columns: Columns): string {
  const absent = TABLES.filter((table) => columns[table].size === 0);
  if (absent.length > 0) return `there is no table ${absent.join(', ')}`;
  const known = (table: Table) => GENERATIONS[program].flatMap(({ adds }) => adds[table] ?? []);
  const namesOf = (columnsOf: (table: Table) => readonly string[]): string[] =>
    TABLES.flatMap((table) => columnsOf(table).map((column) => `${table}.${column}`));
  const unknown = namesOf((table) => [...columns[table]].filter((name) => !known(table).includes(name)));
  if (unknown.length > 0) return `it has columns that no known version has (${unknown.join(', ')})`;
  const lacking = namesOf((table) => known(table).filter((name) => !columns[table].has(name)));
  return `its columns match no known version; it lacks ${lacking.join(', ')}`;
}

function describeTested(program: Program): string {
  const versions = GENERATIONS[program].flatMap((generation) => generation.tested ?? []);
  return `Tested: ${program} ${versions.join(', ')}, and versions with the same columns. Upgrade to one of these first: the program migrates its tables when it starts.`;
}
