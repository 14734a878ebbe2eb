import type { ForeignDatabase, LeftOut } from '../foreign-books.ts';
import { isDeleted, type Program } from './versions.ts';

/** What the tables of one-api and new-api hold that has no counterpart here: it is counted, so that nobody misses it later. */

interface Kept {
  readonly what: string;
  readonly why: string;
  /** Behind `select count(*) from`. */
  readonly from: string;
  /** The column of units that is lost with them. */
  readonly units?: string;
  /** The table, if not every version has it. */
  readonly table?: string;
  readonly only?: Program;
}

const PEOPLE = 'people are invited: faregate user create';
const CONFIGURED = 'providers and models are in the configuration file';

function keptBy(program: Program): readonly Kept[] {
  const deletedUser = isDeleted(program, 'users');
  return [
    {
      what: 'users that are deleted, with their keys',
      units: 'quota',
      why: 'they were deleted',
      from: `users where ${deletedUser}`,
    },
    {
      what: 'keys that are deleted',
      why: 'they were deleted',
      from: `tokens where ${isDeleted(program, 'tokens')}`,
      only: 'new-api',
    },
    {
      what: 'keys of users that are not there',
      why: 'they are refused where they come from',
      from: `tokens where user_id not in (select id from users)`,
    },
    { what: 'passwords', why: PEOPLE, from: `users where password <> '' and not (${deletedUser})` },
    {
      what: 'sign-ins by other services',
      why: PEOPLE,
      from: `users where (github_id <> '' or wechat_id <> '' or oidc_id <> '') and not (${deletedUser})`,
    },
    { what: 'second factors', why: PEOPLE, from: 'two_fas', table: 'two_fas' },
    { what: 'passkeys', why: PEOPLE, from: 'passkey_credentials', table: 'passkey_credentials' },
    {
      what: 'administrators',
      why: 'operators are given a role: faregate user role',
      from: `users where role >= 10 and not (${deletedUser})`,
    },
    {
      what: 'access tokens of users',
      why: 'keys with the scope account do what they did: faregate key create',
      from: `users where access_token <> '' and not (${deletedUser})`,
    },
    {
      what: 'codes that nobody has redeemed',
      units: 'quota',
      why: 'vouchers have another form: faregate voucher create',
      from: `redemptions where status = 1${program === 'new-api' ? ' and deleted_at is null' : ''}`,
    },
    {
      what: 'rewards for invitations that are not part of a balance',
      units: 'aff_quota',
      why: 'give them by hand: faregate account top-up',
      from: `users where aff_quota <> 0 and not (${deletedUser})`,
      only: 'new-api',
    },
    {
      what: 'limits of one-api that new-api does not look at',
      why: 'they limit nothing where they come from',
      from: `tokens where models <> '' or subnet <> ''`,
      table: 'tokens.subnet',
      only: 'new-api',
    },
    {
      what: 'subscriptions that run',
      why: 'plans are in the configuration file: faregate plan grant',
      from: `user_subscriptions where status = 'active'`,
      table: 'user_subscriptions',
    },
    { what: 'channels', why: CONFIGURED, from: 'channels' },
  ];
}

export async function readLeftOut(program: Program, database: ForeignDatabase): Promise<LeftOut[]> {
  const leftOut: LeftOut[] = [];
  for (const kept of keptBy(program)) {
    if (kept.only !== undefined && kept.only !== program) continue;
    if (kept.table !== undefined && !(await isThere(database, kept.table))) continue;
    const { count, units } = await readCount(database, kept);
    if (count > 0) leftOut.push({ what: kept.what + units, why: kept.why, count });
  }
  return [...leftOut, ...(await readGroups(program, database)), ...(await readPrices(database))];
}

async function isThere(database: ForeignDatabase, name: string): Promise<boolean> {
  const [table, column] = name.split('.');
  const columns = await database.columnsOf(table!);
  return column === undefined ? columns.size > 0 : columns.has(column);
}

async function readCount(database: ForeignDatabase, { from, units }: Kept): Promise<{ count: number; units: string }> {
  const [row] = await database.select(
    `select cast(count(*) as text) as count, cast(${units === undefined ? 'null' : `sum(${units})`} as text) as units from ${from}`,
  );
  return { count: Number(row!.count), units: row!.units === null ? '' : `, ${row!.units} units` };
}

/** Groups other than the default one, with what they pay of the price. */
async function readGroups(program: Program, database: ForeignDatabase): Promise<LeftOut[]> {
  const ratios = await readJsonOption(database, 'GroupRatio');
  const tables = program === 'one-api' ? (['users'] as const) : (['users', 'tokens'] as const);
  const leftOut: LeftOut[] = [];
  for (const table of tables) {
    const rows = await database.select(`select "group" as name, cast(count(*) as text) as count from ${table}
where "group" not in ('', 'default') and not (${isDeleted(program, table)}) group by "group" order by "group"`);
    for (const { name, count } of rows) {
      const ratio = ratios[name!];
      const pays = ratio === undefined ? 'no ratio is stored for it' : `it pays ${String(ratio)} of the price`;
      leftOut.push({
        what: `${table === 'users' ? 'users' : 'keys'} of the group ${name}`,
        why: `${pays}; an account has a price factor: faregate account set`,
        count: Number(count),
      });
    }
  }
  return leftOut;
}

async function readPrices(database: ForeignDatabase): Promise<LeftOut[]> {
  const names = new Set<string>();
  for (const key of ['ModelRatio', 'ModelPrice']) {
    for (const name of Object.keys(await readJsonOption(database, key))) names.add(name);
  }
  return names.size === 0 ? [] : [{ what: 'prices of models', why: CONFIGURED, count: names.size }];
}

/** An object that an option holds; empty if there is none that can be read. */
async function readJsonOption(database: ForeignDatabase, key: string): Promise<Record<string, unknown>> {
  const [row] = await database.select(`select value from options where key = '${key}'`);
  try {
    return Object(JSON.parse(row?.value ?? '{}'));
  } catch {
    return {};
  }
}
