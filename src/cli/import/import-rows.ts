import { CsvError, parse } from 'csv-parse/sync';
import { newAccount } from '../../api/accounts/admin.ts';
import { newKey } from '../../api/keys/key-body.ts';
import { issueText } from '../../api/management/issue-text.ts';
import { CliError } from '../command.ts';
import { refuseProblems } from './repeats.ts';

/** An account to create. Texts are as in the file. */
export interface ImportRow {
  /** Number of the line, from 1. */
  readonly line: number;
  readonly name: string;
  readonly email: string | null;
  readonly verified: boolean;
  readonly balanceYuan: string | null;
  readonly planId: string | null;
  readonly groupId: string | null;
  /** Name of the API key to create; `null`: none. */
  readonly keyName: string | null;
}

const COLUMNS = ['name', 'email', 'verified', 'balance', 'group', 'plan', 'key'] as const;
type ColumnName = (typeof COLUMNS)[number];

const ROWS_MAX = 10_000;
const VERIFIED = new Map([
  ...['', 'no', 'n', 'false', '0'].map((text) => [text, false] as const),
  ...['yes', 'y', 'true', '1'].map((text) => [text, true] as const),
]);

/** Column of each member of a request body. */
const COLUMN_OF = new Map<PropertyKey, ColumnName>([
  ['name', 'name'],
  ['email', 'email'],
  ['balanceYuan', 'balance'],
]);

export interface KnownIds {
  readonly planIds: readonly string[];
  readonly groupIds: readonly string[];
}

interface Cells {
  readonly line: number;
  readonly cells: Readonly<Record<ColumnName, string>>;
}

/**
 * Reads the rows of an import and checks all of them with the schemas of the admin API before the first one is imported.
 *
 * @param known ids of the plans and groups in the configuration
 * @throws CliError that names every invalid row with line and column
 */
export function readImportRows(file: string, bytes: Uint8Array, known: KnownIds): ImportRow[] {
  const problems: string[] = [];
  const lineOf = new Map<string, number>();
  const rows = readCells(file, decode(file, bytes)).map(({ line, cells }): ImportRow => {
    const say = (column: ColumnName, message: string): void =>
      void problems.push(`${file}:${line}: ${column}: ${message}`);
    const row = toRow(line, cells);
    checkRow(row, cells, known, say);
    // Identifies the account if the import is repeated.
    const identity = JSON.stringify([row.name, row.email]);
    const before = lineOf.get(identity);
    if (before !== undefined) say('name', `Line ${before} has the same name and e-mail. Remove one of them.`);
    else lineOf.set(identity, line);
    return row;
  });
  refuseProblems(problems, 'Nothing was created. Correct the file and run the command again.');
  if (rows.length === 0) throw new CliError(`${file}: There are no rows below the names of the columns.`);
  return rows;
}

function decode(file: string, bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    throw new CliError(`${file}: The file is not UTF-8. Save it as "CSV UTF-8".`);
  }
}

function readCells(file: string, text: string): Cells[] {
  const delimiter = [',', ';', '\t'].toSorted((a, b) => countIn(text, b) - countIn(text, a))[0]!;
  const [head, ...rest] = parseCsv(file, text, delimiter);
  if (head === undefined)
    throw new CliError(`${file}: The file is empty. Its first line names columns: ${COLUMNS.join(',')}`);
  const names = head.record.map((name) => name.toLowerCase());
  checkHead(file, names);
  if (rest.length > ROWS_MAX) throw new CliError(`${file}: At most ${ROWS_MAX} rows; split the file.`);
  return rest.map(({ record, info: { lines: line } }) => {
    if (record.length !== names.length) {
      throw new CliError(
        `${file}:${line}: Expected ${names.length} columns, as in the first line, not ${record.length}.`,
      );
    }
    // The admin API also removes white space within quotes. If this did not, a name could belong to two accounts.
    const cells = Object.fromEntries(COLUMNS.map((column) => [column, (record[names.indexOf(column)] ?? '').trim()]));
    return { line, cells: cells as Record<ColumnName, string> };
  });
}

function countIn(text: string, delimiter: string): number {
  return text.split('\n', 1)[0]!.split(delimiter).length;
}

function parseCsv(file: string, text: string, delimiter: string) {
  try {
    const options = { bom: true, delimiter, info: true, relax_column_count: true, skip_empty_lines: true, trim: true };
    return parse(text, options) as unknown as { record: string[]; info: { lines: number } }[];
  } catch (error) {
    if (!(error instanceof CsvError)) throw error;
    throw new CliError(`${file}: The file is not CSV: ${error.message}`, { cause: error });
  }
}

function checkHead(file: string, names: readonly string[]): void {
  const known: readonly string[] = COLUMNS;
  const unknown = names.find((name) => !known.includes(name));
  if (unknown !== undefined) {
    throw new CliError(
      `${file}:1: There is no column "${unknown.slice(0, 50)}". Known columns: ${COLUMNS.join(', ')}.`,
    );
  }
  const twice = names.find((name, i) => names.indexOf(name) !== i);
  if (twice !== undefined) throw new CliError(`${file}:1: The column "${twice}" occurs twice.`);
  if (!names.includes('name')) throw new CliError(`${file}:1: The column "name" is missing.`);
}

function toRow(line: number, { name, email, verified, balance, group, plan, key }: Cells['cells']): ImportRow {
  const orNull = (text: string): string | null => (text === '' ? null : text);
  return {
    line,
    name,
    email: orNull(email),
    verified: VERIFIED.get(verified.toLowerCase()) ?? false,
    balanceYuan: orNull(balance),
    planId: orNull(plan),
    groupId: orNull(group),
    keyName: orNull(key),
  };
}

function checkRow(
  row: ImportRow,
  { verified }: Cells['cells'],
  known: KnownIds,
  say: (column: ColumnName, message: string) => void,
): void {
  const { name, email, balanceYuan } = row;
  const account = newAccount.safeParse({ name, email, balanceYuan }, { error: issueText });
  for (const issue of account.error?.issues ?? []) say(COLUMN_OF.get(issue.path[0] ?? '') ?? 'name', issue.message);
  if (!VERIFIED.has(verified.toLowerCase())) say('verified', 'Expected yes or no.');
  for (const kind of ['plan', 'group'] as const) {
    const [id, ids] = [row[`${kind}Id`], known[`${kind}Ids`]];
    if (id === null || ids.includes(id)) continue;
    say(
      kind,
      `There is no such ${kind}. ${ids.length === 0 ? `No ${kind} is configured.` : `Known: ${ids.join(', ')}.`}`,
    );
  }
  const key = row.keyName === null ? null : newKey.safeParse({ name: row.keyName }, { error: issueText });
  for (const issue of key?.error?.issues ?? []) say('key', issue.message);
}
