import type { Command } from 'commander';
import { formatYuan } from '../../lib/yuan.ts';
import { type CommandKit, UsageError } from '../command.ts';
import { type Decimal, parseDecimal } from '../decimal.ts';
import type { ForeignBooks, ForeignDatabase } from '../import/foreign-books.ts';
import type { WrittenAccount } from '../import/foreign-import.ts';
import type { Program as OneApi } from '../import/one-api/versions.ts';
import { createProgress } from '../progress.ts';
import { renderTable } from '../table.ts';

const HELP = `
SOURCE is a SQLite file or a postgres:// address. It is opened so that nothing can be written to it.

Without --apply the command says what would be there afterwards, and what has no counterpart here. With --apply it makes
accounts, keys and balances. Clients go on with the keys that they have. Run it again after a failure: what is there already stays as it is. Stop the
other gateway first, so that nothing is spent there afterwards.`;

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
  ofOneApi('new-api', 'the same of a new-api database'),
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

/** `faregate import …` */
export function importCommands(program: Command, kit: CommandKit): void {
  const group = program
    .command('import')
    .description('move in from another gateway: its accounts, keys and balances; keys keep working');
  for (const foreign of PROGRAMS) {
    group
      .command(foreign.name)
      .description(foreign.description)
      .argument('<source>', 'a SQLite file, or a postgres:// address')
      .requiredOption('--usd-cny <rate>', 'what a dollar is in yuan, such as 7.15')
      .option(
        '--label <name>',
        'what to call this database, if several of one program move in; the same at each repeat',
      )
      .option('--apply', 'import; without it nothing is made')
      .addHelpText('after', HELP)
      .action(
        kit.changing(async (admin, output, [source], options) => {
          const usdCny = parseDecimal(String(options.usdCny));
          if (usdCny === null) throw new UsageError('--usd-cny: Expected a positive number such as 7.15.');
          const read = await readFrom(source!, (database) => foreign.read(database, usdCny));
          // Accounts are known by their source and what they are called there.
          const books = options.label === undefined ? read : { ...read, source: `${read.source} ${options.label}` };
          const { checkBooks } = await import('../import/check-books.ts');
          checkBooks(books);
          if (options.apply !== true) {
            output.print(shown(books), () => describePlan(books));
            return 0;
          }
          const progress = createProgress(kit.process);
          try {
            const { writeBooks } = await import('../import/foreign-import.ts');
            const written = await writeBooks(admin, books, progress);
            progress.end();
            output.print({ ...shown(books), accounts: written }, () => describeWritten(books, written));
          } finally {
            progress.end();
          }
          return 0;
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

/** As JSON: hashes are no secrets, and nobody needs them here. */
function shown({ source, version, accounts, leftOut }: ForeignBooks) {
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
  const accounts = renderTable(books.accounts, 'There are no accounts in it.', [
    { title: 'account', cell: (row) => row.name },
    { title: 'e-mail', cell: (row) => row.email ?? '' },
    { title: 'balance ¥', cell: (row) => formatYuan(row.balanceNano), align: 'right' },
    { title: 'keys', cell: (row) => String(row.keys.filter(({ isRevoked }) => !isRevoked).length), align: 'right' },
    { title: 'revoked', cell: (row) => String(row.keys.filter(({ isRevoked }) => isRevoked).length), align: 'right' },
    { title: 'suspended', cell: (row) => row.suspendedBecause ?? '' },
  ]);
  return [
    `${books.source}, ${books.version}`,
    accounts,
    describeLeftOut(books),
    `${summary(books)} would be made. Nothing was: add --apply to import.`,
  ].join('\n\n');
}

function describeLeftOut({ leftOut }: ForeignBooks): string {
  return renderTable(leftOut, 'Nothing is left out.', [
    { title: 'count', cell: (row) => String(row.count), align: 'right' },
    { title: 'is left out', cell: (row) => row.what },
    { title: 'because', cell: (row) => row.why },
  ]);
}

function describeWritten(books: ForeignBooks, written: readonly WrittenAccount[]): string {
  const accounts = renderTable(written, 'There are no accounts in it.', [
    { title: 'account', cell: (row) => row.name },
    { title: 'id', cell: (row) => row.accountId },
    { title: 'moved ¥', cell: (row) => row.balanceYuan, align: 'right' },
    { title: 'keys', cell: (row) => String(row.keys), align: 'right' },
  ]);
  return [accounts, describeLeftOut(books), `${summary(books)} are there. Prove it: faregate audit`].join('\n\n');
}

function summary({ accounts }: ForeignBooks): string {
  const keys = accounts.reduce((sum, account) => sum + account.keys.length, 0);
  const balanceNano = accounts.reduce((sum, account) => sum + account.balanceNano, 0n);
  return `${accounts.length} accounts with ${keys} keys and ¥${formatYuan(balanceNano)}`;
}
