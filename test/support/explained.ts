import type { Database, Parameter, Statement } from '../../src/db/database.ts';

interface Explained {
  /** The same database. Every statement passed to `query` is explained first. */
  readonly database: Database;
  /** The lines of all plans since the last call, as one text. */
  take(): string;
}

/** Records the query plans of a store's statements. */
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
