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
 * Takes over the journal files of other processes one at a time, the one that was last written longest ago first. A file
 * that cannot be taken or read is logged and stays for the next taker.
 *
 * Any process may take any file, also that of a process that is alive, by renaming it to a name of its own. Why no entry
 * is lost that was acknowledged:
 * - The taker renames first and reads then. The owner writes, syncs, looks whether the file still has its name, and
 *   acknowledges then. If it has, the renaming, and so the reading, comes after the writing: the taker finds the
 *   entry. If it has not, the owner stores the entry in a new file instead.
 * - The owner empties a file only when each of its entries was removed, because it was applied. A taker that reads one of
 *   these finds it gone, or by the checksum that another entry stands in its place. A taker that meets this while it scans
 *   the file may take it for damage, and keeps the file.
 * - The taker deletes a file when all entries that it found in it are removed. What the owner wrote there later was not
 *   acknowledged for this file; what it wrote there before, it still reads: it has the file open.
 * - A taker that dies leaves the file under a name that the next one takes over.
 * This holds for the processes of one machine: it needs one view of the file system.
 */
export async function* takeOver(options: TakeoverOptions): AsyncGenerator<TakenOver> {
  for (const name of await namesByAge(options)) {
    try {
      const takenOver = await takeFile(options, name);
      if (takenOver !== null) yield takenOver;
    } catch (error) {
      options.logger.error({ err: error, file: join(options.directory, name) }, 'a journal file cannot be taken over');
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

/** Null if another process was quicker. */
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
        logger.error(details, 'a journal file is damaged; it is kept when its other entries have been applied');
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
