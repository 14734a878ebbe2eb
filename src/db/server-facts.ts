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
  /** Such as `18.1`. */
  version: textColumn(`current_setting('server_version') as version`),
  major: intColumn(`current_setting('server_version_num')::int / 10000 as major`),
  /** Whether it only follows another server, and takes no writes. */
  isStandby: booleanColumn('pg_is_in_recovery() as standby'),
  /** The settings that let acknowledged charges be lost in a crash or a power cut, such as `fsync = off`. */
  unsafeSettings: jsonbColumn<readonly string[]>(`to_jsonb(array(
    select name || ' = ' || setting from pg_settings
    where name in ('fsync', 'synchronous_commit', 'full_page_writes') and setting = 'off' order by name
  )) as unsafe`),
  /** On Citus: how often transactions are recovered that were cut off between their two phases; negative: never. Otherwise `null`. */
  twoPhaseRecoveryMs: orNull(
    intColumn(`(select setting::int from pg_settings where name = 'citus.recover_2pc_interval'
    and exists (select from pg_extension where extname = 'citus')) as recovery_ms`),
  ),
  nowMs: instantColumn('clock_timestamp() as now'),
});

/** What the gateway relies on of a database server, and could be set otherwise. */
export type ServerFacts = RowOf<typeof FACTS>;

const readFacts: Statement = { name: 'server-facts.read', text: `select ${FACTS.list}` };

export async function readServerFacts(database: Queryable): Promise<ServerFacts> {
  return FACTS.first(await database.query(readFacts))!;
}
