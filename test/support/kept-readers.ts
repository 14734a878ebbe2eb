import type { Database, Statement, TableReader } from '../../src/db/database.ts';
import { AUDITS_WAITING_MAX, Turns } from '../../src/db/pools.ts';

/**
 * Connections on which audits of a lent database read, and which stay open for the next audit, also for that of the next
 * test. Every gateway of a test is audited at its end, and a server plans the thirty statements of an audit anew on each
 * connection: that takes it longer than to serve most tests.
 */
export class KeptReaders {
  readonly #real: Database;
  readonly #idle: TableReader[] = [];

  constructor(real: Database) {
    this.#real = real;
  }

  /** As `openTables` of the database. A reader of which a statement failed is closed for good. */
  async open(): Promise<TableReader> {
    const reader = (await this.#idleOne()) ?? (await this.#real.openTables());
    let isSound = true;
    let isOpen = true;
    return {
      async query<Row>(...asked: Parameters<TableReader['query']>) {
        try {
          return await reader.query<Row>(...asked);
        } catch (error) {
          isSound = false;
          throw error;
        }
      },
      close: async () => {
        if (isOpen && isSound) this.#idle.push(reader);
        else if (isOpen) await reader.close();
        isOpen = false;
      },
    };
  }

  /** Tests end connections of others, and this may have been one. */
  async #idleOne(): Promise<TableReader | null> {
    for (let reader = this.#idle.pop(); reader !== undefined; reader = this.#idle.pop()) {
      const isThere = await reader.query(READER_IS_THERE).then(
        () => true,
        () => false,
      );
      if (isThere) return reader;
      await reader.close();
    }
    return null;
  }
}

const READER_IS_THERE: Statement = { name: 'test.reader-is-there', text: 'select' };

/** How a loan reads tables. */
export function tablesOf(real: Database, readers: KeptReaders): Pick<Database, 'openTables' | 'audit' | 'figures'> {
  const audits = new Turns('audits', 1, AUDITS_WAITING_MAX);
  return {
    openTables: () => readers.open(),
    audit: (work) => audits.run(work),
    figures: () => real.figures().map((figures) => (figures.name === audits.figures.name ? audits.figures : figures)),
  };
}
