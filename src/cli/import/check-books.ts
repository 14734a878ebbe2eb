import type { z } from 'zod';
import { newAccount } from '../../api/accounts/admin.ts';
import { importedKey } from '../../api/keys/key-body.ts';
import { issueText } from '../../api/management/issue-text.ts';
import { amountYuan } from '../../api/management/wire.ts';
import type { ForeignBooks } from './foreign-books.ts';
import { amountOf, bodyOfAccount, bodyOfKey } from './foreign-import.ts';
import { refuseProblems } from './repeats.ts';

/** Checks everything with the schemas of the admin API before anything is imported. @throws CliError that names what they refuse */
export function checkBooks({ accounts }: ForeignBooks): void {
  const problems: string[] = [];
  const check = (where: string, schema: z.ZodType, value: unknown): void => {
    const { error } = schema.safeParse(value, { error: issueText });
    for (const issue of error?.issues ?? []) problems.push([where, ...issue.path, issue.message].join(': '));
  };
  for (const account of accounts) {
    const where = `${account.name} (${account.ref})`;
    check(where, newAccount, bodyOfAccount(account));
    check(`${where}: balance`, amountYuan, amountOf(account));
    for (const key of account.keys) check(`${where}: key ${key.name} (${key.ref})`, importedKey, bodyOfKey(key));
  }
  refuseProblems(problems, 'Nothing was imported. Change these in the other gateway first.');
}
