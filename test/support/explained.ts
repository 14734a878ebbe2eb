import type { Database, Parameter, Statement } from '../../src/db/database.ts';

interface Explained {
  /** The same database; each statement that is asked by `query` is explained first. */
  readonly database: Database;
  /** The lines of the plans since the last time, as one text. */
  take(): string;
}

/** Plans of what a store asks. */
export function explaining(database: Database): Explained {
  let lines: string[] = [];
  return {
    database: {
      ...database,
      async query<Row>(statement: Statement, parameters?: readonly Parameter[]) {
        const plan = await database.query<{ 'QUERY PLAN': string }>(
          { name: `explain ${statement.name}`, text: `explain (costs off) ${statement.text}` },
          parameters,
        );
        lines.push(...plan.map((row) => row['QUERY PLAN'].trim()));
        return database.query<Row>(statement, parameters);
      },
    },
    take() {
      const taken = lines.join('\n');
      lines = [];
      return taken;
    },
  };
}
