import type { Database } from '../../src/db/database.ts';
import { openEmbedded } from '../../src/db/embedded.ts';
import { EmbeddedFiles, systemSync } from '../../src/db/embedded-files.ts';

/** A disk whose syncs fail while it is broken, as the embedded database sees it. */
export class FailingSyncs {
  isBroken = false;

  open(dataDir: string): Promise<Database> {
    const sync = {
      ...systemSync,
      file: (descriptor: number): void => {
        if (this.isBroken) throw Object.assign(new Error('EIO: i/o error, fsync'), { code: 'EIO' });
        systemSync.file(descriptor);
      },
    };
    return openEmbedded({ dataDir, openFiles: (files) => new EmbeddedFiles(files, sync) });
  }
}
