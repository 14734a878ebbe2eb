import { type Decimal, parseDecimal } from '../../lib/decimal.ts';
import { formatYuan } from '../../lib/yuan.ts';
import { UsageError } from '../command.ts';
import { type AdminWork, group, type Options } from '../command-rows.ts';
import type { ForeignAccount, ForeignBooks, ForeignDatabase, LeftOut } from '../import/foreign-books.ts';
import type { WrittenAccount } from '../import/foreign-import.ts';
import type { Program as OneApi } from '../import/one-api/versions.ts';
import { columnsOf, renderTable } from '../table.ts';

const HELP = `
SOURCE is a SQLite file or a postgres:// address. It is opened read-only.

Without --apply the command prints what it would create, and what has no counterpart in Faregate. With --apply it creates accounts, keys
and balances; clients keep their keys. Run it again after a failure: accounts that are already imported do not change. Stop the other
gateway first, so that nothing is spent there afterwards.`;

type Read = (database: ForeignDatabase, usdCny: Decimal) => Promise<ForeignBooks>;

const importFrom =
  (read: Read): AdminWork =>
  async (admin, output, { source, usdCny, label, apply }, process) => {
    const rate = parseDecimal(String(usdCny));
    if (rate === null) throw new UsageError('--usd-cny: Expected a positive number such as 7.15.');
    const found = await readFrom(String(source), (database) => read(database, rate));
    // The source of an account includes the label. Together with its reference in that source, it identifies the account.
    const books = label === undefined ? found : { ...found, source: `${found.source} ${label}` };
    const { checkBooks } = await import('../import/check-books.ts');
    checkBooks(books);
    if (apply !== true) {
      output.print(toJson(books), () => describePlan(books));
      return;
    }
    const { writeBooks } = await import('../import/foreign-import.ts');
    const written = await writeBooks(admin, books, process);
    output.print({ ...toJson(books), accounts: written }, () => describeWritten(books, written));
  };

const OPTIONS: Options = {
  '<source>': 'a SQLite file, or a postgres:// address',
  '--usd-cny <rate>': { text: 'yuan per dollar, such as 7.15', isRequired: true },
  '--label <name>':
    'a name for this database, if you import several of the same program; use the same name when you repeat the import',
  '--apply': 'import; without it nothing is created',
};

const ofOneApi = (program: OneApi) => ({
  about: `users with their tokens and what is left of their quota, of a ${program} database`,
  with: OPTIONS,
  help: HELP,
  changes: importFrom(async (database, usdCny) => {
    const { readBooks } = await import('../import/one-api/read-books.ts');
    return readBooks({ program, database, usdCny, at: new Date() });
  }),
});

const ABOUT = 'import the accounts, keys and balances of another gateway; keys keep working';

export const importCommands = group('import', ABOUT, {
  'litellm <source>': {
    about: 'teams and users with their keys, and what is left of their budgets, of a LiteLLM database',
    with: OPTIONS,
    help: HELP,
    changes: importFrom(async (database, usdCny) => {
      const { readBooks } = await import('../import/litellm/read-books.ts');
      return readBooks({ database, usdCny });
    }),
  },
  'one-api <source>': ofOneApi('one-api'),
  'new-api <source>': ofOneApi('new-api'),
});

async function readFrom(source: string, read: (database: ForeignDatabase) => Promise<ForeignBooks>) {
  const { openForeignDatabase } = await import('../import/foreign-database.ts');
  const database = await openForeignDatabase(source);
  try {
    return await read(database);
  } finally {
    await database.close();
  }
}

function toJson({ source, version, accounts, leftOut }: ForeignBooks) {
  return {
    source,
    version,
    accounts: accounts.map(({ ref, name, email, balanceNano, suspendedBecause, keys }) => ({
      ref,
      name,
      email,
      balanceYuan: formatYuan(balanceNano),
      suspendedBecause,
      keys: keys.map((key) => ({
        name: key.name,
        prefix: key.prefix,
        isRevoked: key.isRevoked,
        expiresAt: key.expiresAt?.toISOString() ?? null,
      })),
    })),
    leftOut,
  };
}

function describePlan(books: ForeignBooks): string {
  const accounts = renderTable(books.accounts, 'The database has no accounts.', [
    ...columnsOf<ForeignAccount>('account: name', 'e-mail: email'),
    { title: 'balance ¥', cell: (row) => formatYuan(row.balanceNano) },
    { title: 'keys', cell: (row) => String(row.keys.filter(({ isRevoked }) => !isRevoked).length) },
    { title: 'revoked', cell: (row) => String(row.keys.filter(({ isRevoked }) => isRevoked).length) },
    ...columnsOf<ForeignAccount>('suspended: suspendedBecause'),
  ]);
  return [
    `${books.source}, ${books.version}`,
    accounts,
    describeLeftOut(books),
    `${summary(books)} would be created. Nothing was created: add --apply to import.`,
  ].join('\n\n');
}

function describeLeftOut({ leftOut }: ForeignBooks): string {
  const columns = columnsOf<LeftOut>('count', 'left out: what', 'because: why');
  return renderTable(leftOut, 'Nothing is left out.', columns);
}

function describeWritten(books: ForeignBooks, written: readonly WrittenAccount[]): string {
  const columns = columnsOf<WrittenAccount>('account: name', 'id: accountId', 'moved ¥: balanceYuan', 'keys');
  const accounts = renderTable(written, 'The database has no accounts.', columns);
  return [accounts, describeLeftOut(books), `Imported ${summary(books)}. Verify it: faregate audit`].join('\n\n');
}

function summary({ accounts }: ForeignBooks): string {
  const keys = accounts.reduce((sum, account) => sum + account.keys.length, 0);
  const balanceNano = accounts.reduce((sum, account) => sum + account.balanceNano, 0n);
  return `${accounts.length} accounts with ${keys} keys and ¥${formatYuan(balanceNano)}`;
}
