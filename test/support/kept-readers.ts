import type { Database, Statement, TableReader } from '../../src/db/database.ts';
import { AUDITS_WAITING_MAX, Turns } from '../../src/db/pools.ts';

/**
 * Connections for audits of a lent database, kept open for later audits, also those of other tests. Every gateway of a test is audited at
 * its end, and PostgreSQL plans the thirty statements of an audit once per connection, which takes longer than most tests.
 */
export class KeptReaders {
  readonly #real: Database;
  readonly #idle: TableReader[] = [];

  constructor(real: Database) {
    this.#real = real;
  }

  /** Like `openTables` of the database. A reader is closed after a failed statement. */
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

  /** A test may have ended this connection. */
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

/** The readers of one loan. */
export function tablesOf(real: Database, readers: KeptReaders): Pick<Database, 'openTables' | 'audit' | 'figures'> {
  const audits = new Turns('audits', 1, AUDITS_WAITING_MAX);
  return {
    openTables: () => readers.open(),
    audit: (work) => audits.run(work),
    figures: () => real.figures().map((figures) => (figures.name === audits.figures.name ? audits.figures : figures)),
  };
}
