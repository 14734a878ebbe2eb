import type { Queryable, Statement } from './database.ts';
import {
  booleanColumn,
  instantColumn,
  intColumn,
  jsonbColumn,
  orNull,
  type RowOf,
  selection,
  textColumn,
} from './table.ts';

const FACTS = selection({
  version: textColumn(`current_setting('server_version') as version`),
  major: intColumn(`current_setting('server_version_num')::int / 10000 as major`),
  isStandby: booleanColumn('pg_is_in_recovery() as standby'),
  /** Settings with which a crash or power cut can lose confirmed charges, such as `fsync = off`. */
  unsafeSettings: jsonbColumn<readonly string[]>(`to_jsonb(array(
    select name || ' = ' || setting from pg_settings
    where name in ('fsync', 'synchronous_commit', 'full_page_writes') and setting = 'off' order by name
  )) as unsafe`),
  /** How often Citus recovers interrupted two-phase transactions; negative: never; `null`: the server does not have Citus. */
  twoPhaseRecoveryMs: orNull(
    intColumn(`(select setting::int from pg_settings where name = 'citus.recover_2pc_interval'
    and exists (select from pg_extension where extname = 'citus')) as recovery_ms`),
  ),
  nowMs: instantColumn('clock_timestamp() as now'),
});

/** Properties of a server that the gateway relies on and that depend on its configuration. */
export type ServerFacts = RowOf<typeof FACTS>;

const readFacts: Statement = { name: 'server-facts.read', text: `select ${FACTS.list}` };

export async function readServerFacts(database: Queryable): Promise<ServerFacts> {
  return FACTS.first(await database.query(readFacts))!;
}
