import { readlinkSync } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { tmpdir } from 'node:os';

/** Why syncs cannot be recorded here, or `false`. */
export const withoutRecordedSyncs: string | false =
  process.platform === 'linux' ? false : 'only Linux names open files';

/** Paths of the files and directories synced through `node:fs/promises` during the work, in order. */
export async function recordSyncs(work: () => Promise<void>, onSync: (path: string) => void): Promise<void> {
  const handle = await open(tmpdir());
  const prototype = Object.getPrototypeOf(handle) as FileHandle;
  await handle.close();
  const { sync } = prototype;
  prototype.sync = async function (this: FileHandle) {
    await sync.call(this);
    onSync(readlinkSync(`/proc/self/fd/${this.fd}`));
  };
  try {
    await work();
  } finally {
    prototype.sync = sync;
  }
}
