import type { AuditedDatabases } from '../../src/accounting/audit/audit-store.ts';
import type { Database, Statement, TableReader } from '../../src/db/database.ts';

/** The databases of an audit, each statement of which `around` runs. */
export function aroundStatements(
  { directory, partitions }: AuditedDatabases,
  around: <Result>(statement: Statement, run: () => Promise<Result>) => Promise<Result>,
): AuditedDatabases {
  const opening = (database: Pick<Database, 'openTables'>) => async (): Promise<TableReader> => {
    const reader = await database.openTables();
    return {
      ...reader,
      query: <Row>(...asked: Parameters<TableReader['query']>) => around(asked[0], () => reader.query<Row>(...asked)),
    };
  };
  return {
    directory: { openTables: opening(directory), audit: (work) => directory.audit(work) },
    partitions: partitions.map((partition) => ({ openTables: opening(partition) })),
  };
}
