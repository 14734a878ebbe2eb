import type { Queryable, Statement } from './database.ts';

/** What the gateway relies on of a database server, and could be set otherwise. */
export interface ServerFacts {
  /** Such as `18.1`. */
  readonly version: string;
  readonly major: number;
  /** Whether it only follows another server, and takes no writes. */
  readonly isStandby: boolean;
  /** The settings that let acknowledged charges be lost in a crash or a power cut, such as `fsync = off`. */
  readonly unsafeSettings: readonly string[];
  readonly nowMs: number;
}

const readFacts: Statement = {
  name: 'server-facts.read',
  text: `select current_setting('server_version') as version, current_setting('server_version_num')::int as number,
  pg_is_in_recovery() as standby, clock_timestamp() as now,
  array_to_string(array(
    select name || ' = ' || setting from pg_settings
    where name in ('fsync', 'synchronous_commit', 'full_page_writes') and setting = 'off' order by name
  ), ',') as unsafe`,
};

interface FactsRow {
  version: string;
  number: number;
  standby: boolean;
  now: Date;
  unsafe: string;
}

export async function readServerFacts(database: Queryable): Promise<ServerFacts> {
  const [row] = await database.query<FactsRow>(readFacts);
  const { version, number, standby, now, unsafe } = row!;
  return {
    version,
    major: Math.floor(number / 10_000),
    isStandby: standby,
    unsafeSettings: unsafe === '' ? [] : unsafe.split(','),
    nowMs: now.getTime(),
  };
}
