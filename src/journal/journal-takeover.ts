import { join } from 'node:path';
import type { Logger } from '../lib/logger.ts';
import { type Disk, isMissing } from './disk.ts';
import { type EntrySpan, JournalFile, scanJournalFile } from './journal-file.ts';
import type { JournalNames } from './journal-names.ts';

interface TakenOver {
  readonly file: JournalFile;
  readonly entries: readonly EntrySpan[];
}

export interface TakeoverOptions {
  readonly disk: Disk;
  readonly directory: string;
  readonly names: JournalNames;
  readonly logger: Logger;
}

/**
 * Takes over the journal files of other processes one at a time, the least recently written first. A file that cannot be renamed or read is
 * logged and left for another process.
 *
 * A process (the taker) can take any file by renaming it, even that of a live process (the owner). No acknowledged entry is lost:
 * - The taker renames the file, then reads it. The owner writes, syncs, checks the name, and then acknowledges. If the name is unchanged,
 *   the taker reads the file after the write and finds the entry. Otherwise the owner stores the entry in a new file.
 * - The owner empties a file only when all of its entries are applied and removed, so the taker does not need them.
 * - The taker deletes a file when all entries that it found are removed. Entries that the owner wrote later are not acknowledged, and the
 *   owner can still read earlier ones, because it has the file open.
 * - If the taker dies, the next process takes over the renamed file. All processes must be on one machine, so that they see the same state
 * of the file system.
 */
export async function* takeOver(options: TakeoverOptions): AsyncGenerator<TakenOver> {
  for (const name of await namesByAge(options)) {
    try {
      const takenOver = await takeFile(options, name);
      if (takenOver !== null) yield takenOver;
    } catch (error) {
      options.logger.error({ err: error, file: join(options.directory, name) }, 'failed to take over a journal file');
    }
  }
}

async function namesByAge({ disk, directory, names }: TakeoverOptions): Promise<string[]> {
  const found: { readonly name: string; readonly modifiedMs: number }[] = [];
  for (const name of await disk.list(directory)) {
    if (!names.isOfAnother(name)) continue;
    const facts = await disk.facts(join(directory, name));
    if (facts !== null) found.push({ name, modifiedMs: facts.modifiedMs });
  }
  found.sort((a, b) => a.modifiedMs - b.modifiedMs || (a.name < b.name ? -1 : 1));
  return found.map(({ name }) => name);
}

/** Takes a file; null if another process has taken it first. */
async function takeFile({ disk, directory, names, logger }: TakeoverOptions, name: string): Promise<TakenOver | null> {
  const ownName = names.take();
  const path = join(directory, ownName);
  try {
    await disk.rename(join(directory, name), path);
    const handle = await disk.open(path);
    try {
      const { entries, damagedLines, bytes } = await scanJournalFile(handle);
      const file = await JournalFile.ofAnother(disk, path, handle, bytes);
      file.entries = entries.length;
      if (damagedLines > 0) {
        file.isDamaged = true;
        const details = { file: path, was: name, damagedLines, entries: entries.length };
        logger.error(details, 'a journal file is damaged; its intact entries are applied, and the file is kept');
      }
      return { file, entries };
    } catch (error) {
      await handle.close().catch(() => undefined);
      throw error;
    }
  } catch (error) {
    names.giveBack(ownName);
    if (isMissing(error)) return null;
    throw error;
  }
}
