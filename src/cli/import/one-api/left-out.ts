import { type Counted, countLeftOut } from '../count-left-out.ts';
import type { ForeignDatabase, LeftOut } from '../foreign-books.ts';
import { isDeleted, type Program } from './versions.ts';

interface Kept extends Counted {
  /** Table, or `table.column`, that must exist; absent: every version has it. */
  readonly table?: string;
  readonly only?: Program;
}

const PEOPLE = 'invite the people: faregate user create';
const CONFIGURED = 'providers and models are in the configuration file';

function keptBy(program: Program): readonly Kept[] {
  const deletedUser = isDeleted(program, 'users');
  return [
    {
      what: 'deleted users, with their keys',
      units: 'quota',
      why: 'they were deleted',
      from: `users where ${deletedUser}`,
    },
    {
      what: 'deleted keys',
      why: 'they were deleted',
      from: `tokens where ${isDeleted(program, 'tokens')}`,
      only: 'new-api',
    },
    {
      what: 'keys of users that do not exist',
      why: `${program} refuses calls with these keys`,
      from: `tokens where user_id not in (select id from users)`,
    },
    { what: 'passwords', why: PEOPLE, from: `users where password <> '' and not (${deletedUser})` },
    {
      what: 'sign-ins with other services',
      why: PEOPLE,
      from: `users where (github_id <> '' or wechat_id <> '' or oidc_id <> '') and not (${deletedUser})`,
    },
    { what: 'second factors', why: PEOPLE, from: 'two_fas', table: 'two_fas' },
    { what: 'passkeys', why: PEOPLE, from: 'passkey_credentials', table: 'passkey_credentials' },
    {
      what: 'administrators',
      why: 'assign the role of operator: faregate user role',
      from: `users where role >= 10 and not (${deletedUser})`,
    },
    {
      what: 'access tokens of users',
      why: 'use keys with the scope account: faregate key create',
      from: `users where access_token <> '' and not (${deletedUser})`,
    },
    {
      what: 'codes that nobody has redeemed',
      units: 'quota',
      why: 'vouchers have another format: faregate voucher create',
      from: `redemptions where status = 1${program === 'new-api' ? ' and deleted_at is null' : ''}`,
    },
    {
      what: 'rewards for invitations that are not part of a balance',
      units: 'aff_quota',
      why: 'add them manually: faregate account top-up',
      from: `users where aff_quota <> 0 and not (${deletedUser})`,
      only: 'new-api',
    },
    {
      what: 'limits of one-api that new-api ignores',
      why: 'they have no effect in new-api',
      from: `tokens where models <> '' or subnet <> ''`,
      table: 'tokens.subnet',
      only: 'new-api',
    },
    {
      what: 'active subscriptions',
      why: 'plans are in the configuration file: faregate plan grant',
      from: `user_subscriptions where status = 'active'`,
      table: 'user_subscriptions',
    },
    { what: 'channels', why: CONFIGURED, from: 'channels' },
  ];
}

export async function readLeftOut(program: Program, database: ForeignDatabase): Promise<LeftOut[]> {
  const present: Kept[] = [];
  for (const kept of keptBy(program)) {
    const isOfProgram = kept.only === undefined || kept.only === program;
    if (isOfProgram && (kept.table === undefined || (await isThere(database, kept.table)))) present.push(kept);
  }
  return [
    ...(await countLeftOut(database, present)),
    ...(await readGroups(program, database)),
    ...(await readPrices(database)),
  ];
}

async function isThere(database: ForeignDatabase, name: string): Promise<boolean> {
  const [table, column] = name.split('.');
  const columns = await database.columnsOf(table!);
  return column === undefined ? columns.size > 0 : columns.has(column);
}

/** Lists the groups other than the default one, with their share of the list price. */
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
        why: `${pays}; an account has a price factor, or is in a group with one: faregate account set`,
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

/** Returns the JSON object of an option; empty if it is absent or invalid. */
async function readJsonOption(database: ForeignDatabase, key: string): Promise<Record<string, unknown>> {
  const [row] = await database.select(`select value from options where key = '${key}'`);
  try {
    return Object(JSON.parse(row?.value ?? '{}'));
  } catch {
    return {};
  }
}
