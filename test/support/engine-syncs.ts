import type { Database } from '../../src/db/database.ts';
import { openEmbedded } from '../../src/db/embedded.ts';
import { type Logger, silentLogger } from '../../src/lib/logger.ts';
import { FILE_SYNCS, MARK, MARK_AT_OPENING, ORDER, ORDERS, PLACES, WAITS } from './watched-files.ts';

/** The syncs of an embedded database, in its thread (`watched-files.ts`), which a test counts and lets fail. */
export class EngineSyncs {
  readonly #shared = new Int32Array(new SharedArrayBuffer(PLACES * Int32Array.BYTES_PER_ELEMENT));

  open(dataDir: string, logger: Logger = silentLogger): Promise<Database> {
    const engineFiles = { url: import.meta.resolve('./watched-files.ts'), data: this.#shared };
    return openEmbedded({ dataDir, logger, engineFiles });
  }

  /** What each sync of a file does from now on, besides being a sync. */
  order(order: keyof typeof ORDERS): void {
    Atomics.store(this.#shared, ORDER, ORDERS[order]);
    Atomics.notify(this.#shared, ORDER);
  }

  /** Syncs of files that are complete. */
  get count(): number {
    return Atomics.load(this.#shared, FILE_SYNCS);
  }

  /** Syncs that have begun to wait. */
  get waits(): number {
    return Atomics.load(this.#shared, WAITS);
  }

  /** Says that something has happened that the engine's files are opened after. */
  mark(): void {
    Atomics.store(this.#shared, MARK, 1);
  }

  /** Whether it had been said when they were opened. */
  get wereOpenedAfterMark(): boolean {
    return Atomics.load(this.#shared, MARK_AT_OPENING) === 1;
  }
}
