import type { Command } from 'commander';
import { formatYuan } from '../../lib/yuan.ts';
import { UsageError } from '../command.ts';
import { type Decimal, parseDecimal } from '../decimal.ts';
import type { ForeignBooks, ForeignDatabase } from '../import/foreign-books.ts';
import type { WrittenAccount } from '../import/foreign-import.ts';
import type { Program as OneApi } from '../import/one-api/versions.ts';
import { addCommand, type CommandKit } from '../kit.ts';
import { createProgress } from '../progress.ts';
import { renderTable } from '../table.ts';

const HELP = `
SOURCE is a SQLite file or a postgres:// address. It is opened read-only.

Without --apply the command prints what it would create, and what has no counterpart in Faregate. With --apply it creates accounts, keys
and balances; clients keep their keys. Run it again after a failure: accounts that are already imported do not change. Stop the other
gateway first, so that nothing is spent there afterwards.`;

interface Program {
  readonly name: string;
  readonly description: string;
  read(database: ForeignDatabase, usdCny: Decimal): Promise<ForeignBooks>;
}

const PROGRAMS: readonly Program[] = [
  {
    name: 'litellm',
    description: 'teams and users with their keys, and what is left of their budgets, of a LiteLLM database',
    async read(database, usdCny) {
      const { readBooks } = await import('../import/litellm/read-books.ts');
      return readBooks({ database, usdCny });
    },
  },
  ofOneApi('one-api', 'users with their tokens and what is left of their quota, of a one-api database'),
  ofOneApi('new-api', 'users with their tokens and what is left of their quota, of a new-api database'),
];

function ofOneApi(name: OneApi, description: string): Program {
  return {
    name,
    description,
    async read(database, usdCny) {
      const { readBooks } = await import('../import/one-api/read-books.ts');
      return readBooks({ program: name, database, usdCny, at: new Date() });
    },
  };
}

export function importCommands(program: Command, kit: CommandKit): void {
  const group = program
    .command('import')
    .description('import the accounts, keys and balances of another gateway; keys keep working');
  for (const foreign of PROGRAMS) {
    addCommand(group, `${foreign.name} <source>`, foreign.description, {
      source: 'a SQLite file, or a postgres:// address',
    })
      .requiredOption('--usd-cny <rate>', 'yuan per dollar, such as 7.15')
      .option(
        '--label <name>',
        'a name for this database, if you import several of the same program; use the same name when you repeat the import',
      )
      .option('--apply', 'import; without it nothing is created')
      .addHelpText('after', HELP)
      .action(
        kit.changing(async (admin, output, { source, usdCny, label, apply }) => {
          const rate = parseDecimal(String(usdCny));
          if (rate === null) throw new UsageError('--usd-cny: Expected a positive number such as 7.15.');
          const read = await readFrom(String(source), (database) => foreign.read(database, rate));
          // An account is identified by its source, which includes the label, and by its reference in that source.
          const books = label === undefined ? read : { ...read, source: `${read.source} ${label}` };
          const { checkBooks } = await import('../import/check-books.ts');
          checkBooks(books);
          if (apply !== true) {
            output.print(toJson(books), () => describePlan(books));
            return;
          }
          const progress = createProgress(kit.process);
          try {
            const { writeBooks } = await import('../import/foreign-import.ts');
            const written = await writeBooks(admin, books, progress);
            progress.end();
            output.print({ ...toJson(books), accounts: written }, () => describeWritten(books, written));
          } finally {
            progress.end();
          }
        }),
      );
  }
}

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
    { title: 'account', cell: (row) => row.name },
    { title: 'e-mail', cell: (row) => row.email ?? '' },
    { title: 'balance ¥', cell: (row) => formatYuan(row.balanceNano) },
    { title: 'keys', cell: (row) => String(row.keys.filter(({ isRevoked }) => !isRevoked).length) },
    { title: 'revoked', cell: (row) => String(row.keys.filter(({ isRevoked }) => isRevoked).length) },
    { title: 'suspended', cell: (row) => row.suspendedBecause ?? '' },
  ]);
  return [
    `${books.source}, ${books.version}`,
    accounts,
    describeLeftOut(books),
    `${summary(books)} would be created. Nothing was created: add --apply to import.`,
  ].join('\n\n');
}

function describeLeftOut({ leftOut }: ForeignBooks): string {
  return renderTable(leftOut, 'Nothing is left out.', [
    { title: 'count', cell: (row) => String(row.count) },
    { title: 'is left out', cell: (row) => row.what },
    { title: 'because', cell: (row) => row.why },
  ]);
}

function describeWritten(books: ForeignBooks, written: readonly WrittenAccount[]): string {
  const accounts = renderTable(written, 'The database has no accounts.', [
    { title: 'account', cell: (row) => row.name },
    { title: 'id', cell: (row) => row.accountId },
    { title: 'moved ¥', cell: (row) => row.balanceYuan },
    { title: 'keys', cell: (row) => String(row.keys) },
  ]);
  return [accounts, describeLeftOut(books), `Imported ${summary(books)}. Verify it: faregate audit`].join('\n\n');
}

function summary({ accounts }: ForeignBooks): string {
  const keys = accounts.reduce((sum, account) => sum + account.keys.length, 0);
  const balanceNano = accounts.reduce((sum, account) => sum + account.balanceNano, 0n);
  return `${accounts.length} accounts with ${keys} keys and ¥${formatYuan(balanceNano)}`;
}
