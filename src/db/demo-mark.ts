import { UPGRADE_FIRST } from '../lib/earliest.ts';
import type { Database, Queryable, Statement } from './database.ts';
import { AdvisedError } from './errors.ts';
import { isTableThere } from './migrate.ts';

// At its first start, a database is marked as that of the demo or not. So balances of the demo, which nobody has paid for, are never used.

export interface ServedAs {
  readonly isDemo: boolean;
  readonly demoAccountId: string | null;
}

/** Thrown if the database belongs to the demo but the configuration does not, or the reverse. */
export class DemoMarkError extends AdvisedError {}

const NAME_ANOTHER =
  'For this configuration, specify another data directory (database.dataDir, --data-dir or FAREGATE_DATA_DIR) or another database ' +
  '(DATABASE_URL).';

const IS_DEMO = {
  reason: 'This database is marked as demo: nobody has paid for its balances, so only the demo serves it.',
  advice: `${NAME_ANOTHER} The demo starts if no configuration is specified and ./faregate.yaml does not exist.`,
};

const IS_UNMARKED_DEMO = {
  reason:
    'This database was created by the demo of an earlier version, and nobody has paid for its balances: demo.json in the data ' +
    'directory names one of its accounts.',
  advice: `${UPGRADE_FIRST} Or specify another data directory.`,
};

const IS_NOT_DEMO = {
  reason: 'This database does not belong to the demo: it has accounts that the demo did not create.',
  advice:
    'Specify its configuration with --config or FAREGATE_CONFIG. For the demo, specify another data directory with ' +
    '--data-dir or FAREGATE_DATA_DIR, and set no DATABASE_URL.',
};

const IS_SERVED_OTHERWISE = {
  reason: 'This database does not belong to the demo: a gateway with another configuration has used it.',
  advice: IS_NOT_DEMO.advice,
};

const selectMark: Statement = { name: 'demo-mark.select', text: 'select is_demo from database_identity' };

const lockMark: Statement = {
  name: 'demo-mark.lock',
  text: 'select is_demo from database_identity for update',
};

const findAccounts: Statement = {
  name: 'demo-mark.find-accounts',
  text: `select exists (select from accounts) as has_accounts, exists (select from accounts where id = $1::text) as has_demo_account`,
};

const setMark: Statement = {
  name: 'demo-mark.set',
  text: 'update database_identity set is_demo = $1::boolean where is_demo is null',
};

/** Checks, without changes, whether a database may be used for this purpose. An empty one may be used for any. @throws DemoMarkError */
export async function checkDemoMark(database: Queryable, served: ServedAs): Promise<void> {
  if (!(await isTableThere(database, 'database_identity'))) return;
  const [mark] = await database.query<{ is_demo: boolean | null }>(selectMark);
  await requireSame(database, mark!.is_demo, served);
}

/** Marks a database that has no mark yet. Nodes that start at the same time do this one after another. @throws DemoMarkError */
export function setDemoMark(database: Database, served: ServedAs): Promise<void> {
  return database.transaction(async (transaction) => {
    const [mark] = await transaction.query<{ is_demo: boolean | null }>(lockMark);
    const isDemo = mark!.is_demo;
    await requireSame(transaction, isDemo, served);
    if (isDemo === null) await transaction.query(setMark, [served.isDemo]);
  });
}

/** @param isDemo the database's mark; `null`: it has none */
async function requireSame(database: Queryable, isDemo: boolean | null, served: ServedAs): Promise<void> {
  if (isDemo !== null) {
    if (isDemo !== served.isDemo) throw new DemoMarkError(isDemo ? IS_DEMO : IS_SERVED_OTHERWISE);
    return;
  }
  const parameters = [served.demoAccountId];
  const [found] = await database.query<{ has_accounts: boolean; has_demo_account: boolean }>(findAccounts, parameters);
  // The demo sets the mark before it creates its account, so a database with the account but no mark is inconsistent.
  if (found!.has_demo_account) throw new DemoMarkError(IS_UNMARKED_DEMO);
  if (served.isDemo && found!.has_accounts) throw new DemoMarkError(IS_NOT_DEMO);
}
