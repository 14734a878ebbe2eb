import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { auditLedger } from '../../src/accounting/ledger/audit-store.ts';
import { createTestDatabase, engines } from '../support/database.ts';

/** Lets no statement read the ledger that is planned as the statements of calls are. */
const GUARD = `
create function is_planned_freely() returns boolean language plpgsql stable as $$ begin
  if current_setting('enable_seqscan') = 'off' then raise exception 'planned without reading tables whole'; end if;
  return true;
end $$;
alter table ledger_entries rename to ledger_rows;
create view ledger_entries as select * from ledger_rows where is_planned_freely()`;

for (const engine of engines) {
  describe(`the audit on ${engine}`, { timeout: 60_000 }, () => {
    // With the settings of calls it would read whole tables by way of an index, and end after ten seconds.
    it('reads tables whole, unlike the statements of calls', async () => {
      const { database, remove } = await createTestDatabase(engine);
      try {
        await database.script(GUARD);
        await assert.rejects(
          database.query({ name: 'test.guard', text: 'select count(*) from ledger_entries' }),
          /planned without reading tables whole/,
        );
        const results = await auditLedger(database);
        assert.ok(results.length > 10);
        assert.deepEqual(
          results.flatMap(({ breaches }) => breaches),
          [],
        );
      } finally {
        await remove();
      }
    });
  });
}
