import { constants } from 'node:fs';
import { chmod, type FileHandle, open, readFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { parse } from 'csv-parse/sync';
import { csvLine } from '../../lib/csv.ts';
import { syncDirectory } from '../../lib/files/durable-files.ts';
import { CliError, type CliProcess } from '../command.ts';

interface ImportedKey {
  readonly name: string;
  readonly accountId: string;
  readonly keyName: string;
  readonly keyId: string;
  readonly key: string;
}

/** File with the keys of an import. Each key is stored durably before the next one is created, so that none is lost. */
export interface KeysFile {
  /** Whether an earlier run has written a key of this account and name. */
  has(accountId: string, keyName: string): boolean;
  add(key: ImportedKey): Promise<void>;
  close(): Promise<void>;
}

const HEAD = ['name', 'account_id', 'key_name', 'key_id', 'key'] as const;
const OWNER_ONLY = 0o600;

export function printedKeys({ writeOut }: Pick<CliProcess, 'writeOut'>): KeysFile {
  let isBegun = false;
  return {
    has: () => false,
    async add(key) {
      writeOut(`${isBegun ? '' : toLine(HEAD)}${toLine(cellsOf(key))}`);
      isBegun = true;
    },
    close: async () => undefined,
  };
}

/**
 * Opens the file of an earlier run of the same import, or creates it. Only its owner can read it.
 *
 * @throws CliError if a file of that name has other contents
 */
export async function openKeysFile(path: string): Promise<KeysFile> {
  const known = await readKnown(path);
  const flags = constants.O_WRONLY | constants.O_APPEND | (known === null ? constants.O_CREAT | constants.O_EXCL : 0);
  const file = await open(path, flags, OWNER_ONLY);
  try {
    if (known !== null) await chmod(path, OWNER_ONLY);
    if (known?.isCut) await write(file, '\n');
    if (known === null || known.isEmpty) {
      await write(file, toLine(HEAD));
      await syncDirectory(dirname(path));
    }
  } catch (error) {
    await file.close();
    throw error;
  }
  const made = known?.made ?? new Set<string>();
  return {
    has: (accountId, keyName) => made.has(idOf(accountId, keyName)),
    async add(key) {
      await write(file, toLine(cellsOf(key)));
      made.add(idOf(key.accountId, key.keyName));
    },
    close: () => file.close(),
  };
}

/** Reads the keys of an earlier run. `isEmpty`, `isCut`: it was stopped before its first line, or within a line. */
async function readKnown(path: string) {
  let text: string;
  try {
    text = await readFile(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
  if (text === '') return { made: new Set<string>(), isEmpty: true, isCut: false };
  const [head, ...rows] = text.split('\n').map(readLine);
  if (JSON.stringify(head) !== JSON.stringify(HEAD)) {
    throw new CliError(
      `${path} exists already, and it is not a file of keys of an import. Name another one with --keys.`,
    );
  }
  const whole = rows.filter((row) => row.length === HEAD.length && /^sk-fg-\w{38}$/.test(row[4]!));
  return { made: new Set(whole.map((row) => idOf(row[1]!, row[2]!))), isEmpty: false, isCut: !text.endsWith('\n') };
}

/** Splits a line into cells. Cells have no line breaks, so an incomplete line does not affect others. */
function readLine(line: string): string[] {
  try {
    return parse(line, { relax_column_count: true })[0] ?? [];
  } catch {
    return [];
  }
}

/** Compares cells as they are written: files of earlier versions lack the apostrophe before a name that begins like a formula. */
const idOf = (accountId: string, keyName: string): string => csvLine([accountId, keyName]);

const cellsOf = ({ name, accountId, keyName, keyId, key }: ImportedKey) => [name, accountId, keyName, keyId, key];

async function write(file: FileHandle, text: string): Promise<void> {
  await file.write(text);
  await file.sync();
}

/** Formats a line. It ends with `\n`, as in files of earlier versions. */
const toLine = (cells: readonly string[]): string => csvLine(cells, '\n');
