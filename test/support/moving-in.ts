import assert from 'node:assert/strict';
import { call } from './client.ts';
import { runCommand } from './command.ts';
import { ADMIN_TOKEN, type TestGateway } from './gateway.ts';
import { CHAT } from './limited-calls.ts';
import type { Finished } from './process.ts';
import { sql } from './sql.ts';

/** Helpers for tests of `faregate import`: the database of another program, and a gateway. */
export interface MovingIn {
  run(...flags: readonly string[]): Promise<Finished>;
  /** Like `run`, but fails the test on an error; returns the output. */
  move(...flags: readonly string[]): Promise<string>;
  /** Number of rows in all tables that an import writes. */
  counts(): Promise<Readonly<Record<string, bigint>>>;
  /** The status of a call with a key, and the reason if it is refused: the first sentence of a 401, else the code. */
  responseTo(key: string, model: string): Promise<string>;
}

export function movingIn(program: string, source: string, gateway: TestGateway): MovingIn {
  const run = (...flags: readonly string[]): Promise<Finished> => {
    const given = ['--gateway', gateway.url, 'import', program, source, '--usd-cny', '7.15', ...flags];
    return runCommand(given, { FAREGATE_ADMIN_TOKEN: ADMIN_TOKEN });
  };
  return {
    run,
    async move(...flags) {
      const { code, stdout, stderr } = await run(...flags);
      assert.equal(code, 0, stderr);
      return stdout;
    },
    async counts() {
      const [row] = await sql<Record<string, bigint>>(
        gateway.database,
        `select (select count(*) from accounts) as accounts, (select count(*) from api_keys) as keys,
        (select count(*) from ledger_entries) as entries, (select count(*) from changes) as changes`,
      );
      return row!;
    },
    async responseTo(key, model) {
      const body = { model, messages: [{ role: 'user', content: 'Hello' }] };
      const { status, text } = await call(gateway.url + CHAT, key, body);
      if (status === 200) return '200';
      const { code, message } = JSON.parse(text).error;
      return `${status} ${status === 401 ? /^[^.]*\./.exec(message)![0] : code}`;
    },
  };
}
