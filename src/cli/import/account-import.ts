import { readFile } from 'node:fs/promises';
import type { GroupsResponse } from '../../api/groups/admin.ts';
import type { CreatedKey } from '../../api/keys/key-keeper.ts';
import type { KeyResponse } from '../../api/keys/wire.ts';
import type { AdminClient } from '../../api/management/admin-client.ts';
import type { AccountResponse } from '../../api/management/wire.ts';
import type { PlansResponse } from '../../api/plans/admin.ts';
import { CliError } from '../command.ts';
import type { CommandRows } from '../command-rows.ts';
import { listAll } from '../pages.ts';
import type { KeysFile } from './import-keys-file.ts';
import type { ImportRow } from './import-rows.ts';
import { importEach, importKey } from './repeats.ts';

const HELP = `
The first line names the columns, in any order; only "name" is required:

  name,email,verified,balance,group,plan,key
  alice,alice@example.com,yes,50,resellers,,laptop
  bob,,yes,,,coding-pro,default

balance is the first top-up in yuan, group the id of a group of accounts (faregate group list), plan the id of a plan of the
configuration (faregate plan list), key the name of the API key to create. Every row is checked before anything is created; errors name the line and column.

New keys are written to a file that only you can read: FILE with .keys.csv in place of .csv, or the file of --keys; "-" prints them.
They are shown nowhere else.

Run the command again after a failure, with the same files: existing accounts, top-ups and plans stay as they are, and so do keys in
the file of keys. An account is identified by its name and e-mail, in any file; accounts of "account create" are different ones.`;

interface ImportedAccount {
  readonly line: number;
  readonly name: string;
  readonly accountId: string;
  readonly planId: string | null;
  /**
   * `none`: the row names no key; `made`: this run created it; `known`: the file of keys has it; `lost`: it exists, but not in that file.
   */
  readonly key: 'none' | 'made' | 'known' | 'lost';
  readonly keyId: string | null;
}

export const accountImport: CommandRows = {
  'import <file>': {
    about: 'create accounts with balances, plans and keys from a CSV file; safe to repeat',
    with: {
      '<file>': 'a CSV file in UTF-8',
      '--keys <file>': 'where new keys go; "-" is standard output',
      '--dry-run': 'only check the file',
    },
    help: HELP,
    async changes(admin, output, given, process) {
      const file = String(given.file);
      const { readImportRows } = await import('./import-rows.ts');
      const { openKeysFile, printedKeys } = await import('./import-keys-file.ts');
      const { data: plans } = await admin.request<PlansResponse>('GET', '/plans');
      const { data: groups } = await admin.request<GroupsResponse>('GET', '/groups');
      const known = {
        planIds: plans.map(({ id }) => id),
        groupIds: groups.filter(({ isConfigured }) => isConfigured).map(({ id }) => id),
      };
      const rows = readImportRows(file, await readInput(file), known);
      if (given.dryRun === true) {
        output.print({ rows: rows.length }, () => `All ${rows.length} rows can be imported. Nothing was created.`);
        return 0;
      }
      const isPrinted = given.keys === '-';
      const keysPath = isPrinted ? null : String(given.keys ?? `${file.replace(/\.csv$/i, '')}.keys.csv`);
      const hasKeys = rows.some(({ keyName }) => keyName !== null);
      const keys = keysPath === null || !hasKeys ? printedKeys(process) : await openKeysFile(keysPath);
      try {
        const located = rows.map((row) => ({ ...row, at: `${file}:${row.line}: ` }));
        const options = { noun: 'row', process, otherwise: IMPORTED_OTHERWISE };
        const imported = await importEach(located, options, (row) => importRow(admin, row, keys));
        const text = describe(imported, keysPath);
        if (isPrinted) process.writeError(`${text}\n`);
        else output.print({ accounts: imported, keysFile: hasKeys ? keysPath : null }, () => text);
        return imported.some(({ key }) => key === 'lost') ? 1 : 0;
      } finally {
        await keys.close();
      }
    },
  },
};

async function readInput(file: string): Promise<Uint8Array> {
  try {
    return await readFile(file);
  } catch (error) {
    const isAbsent = (error as NodeJS.ErrnoException).code === 'ENOENT';
    throw new CliError(isAbsent ? `There is no file ${file}.` : `${file} cannot be read: ${(error as Error).message}`);
  }
}

/** Imports a row. Each request can be repeated: accounts and plans have idempotency keys, and the file of keys has the API keys. */
async function importRow(admin: AdminClient, row: ImportRow, keys: KeysFile): Promise<ImportedAccount> {
  const { line, name, email, verified, balanceYuan, groupId, planId, keyName } = row;
  const idempotencyKey = importKey(name, email);
  const account = { name, email, verified, balanceYuan, groupId };
  const { id: accountId } = await admin.request<AccountResponse>('POST', '/accounts', account, idempotencyKey);
  if (planId !== null) {
    await admin.request('POST', `/accounts/${accountId}/subscriptions`, { planId }, `${idempotencyKey}-plan`);
  }
  const done = { line, name, accountId, planId };
  if (keyName === null) return { ...done, key: 'none', keyId: null };
  if (keys.has(accountId, keyName)) return { ...done, key: 'known', keyId: null };
  const held = await listAll<KeyResponse>(admin, `/accounts/${accountId}/keys`, {});
  const lost = held.find((key) => key.name === keyName && key.revokedAt === null);
  if (lost !== undefined) return { ...done, key: 'lost', keyId: lost.id };
  const made = await admin.request<CreatedKey>('POST', `/accounts/${accountId}/keys`, { name: keyName });
  await keys.add({ name, accountId, keyName, keyId: made.id, key: made.key });
  return { ...done, key: 'made', keyId: made.id };
}

const IMPORTED_OTHERWISE =
  'The account was imported before with other values (e-mail, verified, balance, group or plan). Give the row its earlier values, and ' +
  'change the account itself: faregate account top-up, account verify, account set, plan grant.';

function describe(imported: readonly ImportedAccount[], keysPath: string | null): string {
  const made = imported.filter(({ key }) => key === 'made').length;
  const known = imported.filter(({ key }) => key === 'known').length;
  const lost = imported.filter(({ key }) => key === 'lost');
  const where = keysPath === null ? '' : ` in ${keysPath}, which only you can read`;
  return [
    `Imported ${imported.length} ${imported.length === 1 ? 'account' : 'accounts'}.`,
    ...(made > 0 ? [`${made} new ${made === 1 ? 'key is' : 'keys are'}${where || ' printed'}.`] : []),
    ...(known > 0 ? [`${known} ${known === 1 ? 'key exists' : 'keys exist'} already${where}.`] : []),
    ...lost.map(
      ({ line, name, keyId }) =>
        `Line ${line}: The key ${keyId} of ${name} exists already, and its text is not in the file of keys: name the file of the ` +
        `earlier run with --keys, or revoke the key and run this again: faregate key revoke ${keyId}`,
    ),
  ].join('\n');
}
