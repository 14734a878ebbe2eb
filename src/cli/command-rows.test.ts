import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { z } from 'zod';
import { type AdminApiDependencies, adminTable } from '../api/registers/admin.ts';
import { type CommandRow, type CommandRows, memberNames } from './command-rows.ts';
import { neededCommands } from './commands/all.ts';

const allOf = (rows: CommandRows): CommandRow[] =>
  Object.values(rows).flatMap((row) => [row, ...allOf(row.rows ?? {})]);

const membersOf = (schema: z.ZodType | null): object =>
  schema === null ? {} : (z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' }).properties ?? {});

describe('commands', () => {
  it('call endpoints of the admin API, with members that their queries and bodies have', async () => {
    const endpoints = new Map(adminTable({} as AdminApiDependencies).map((row) => [`${row.method} ${row.path}`, row]));
    const rows = (await Promise.all(neededCommands([]).map((load) => load()))).flatMap(allOf);
    let checked = 0;
    for (const row of rows) {
      const named = 'sends' in row ? row.sends : 'lists' in row ? `GET ${row.lists}` : null;
      if (named === null) continue;
      const endpoint = endpoints.get(named.replace(/:\w+/, ':id'));
      assert.ok(endpoint !== undefined, `There is no ${named}.`);
      const query = 'lists' in row ? row.filters : 'sends' in row ? row.query : [];
      for (const name of query ?? []) assert.ok(name in membersOf(endpoint.querySchema), `${named} has no ${name}.`);
      const body = 'sends' in row && Array.isArray(row.body) ? row.body.map(memberNames) : [];
      for (const [name] of body) assert.ok(name in membersOf(endpoint.bodySchema), `${named} has no ${name}.`);
      checked++;
    }
    assert.ok(checked > 30, String(checked));
  });
});
