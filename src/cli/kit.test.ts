import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Command } from 'commander';
import { z } from 'zod';
import { type AdminApiDependencies, adminTable } from '../api/registers/admin.ts';
import { neededCommands } from './commands/all.ts';
import { CommandKit } from './kit.ts';

/** An endpoint, with `:id` for any parameter, and the names of its filters. */
type Named = readonly [endpoint: string, filters: readonly string[]];

const named = (endpoint: string, filters: readonly string[] = []): Named => [endpoint.replace(/:\w+/, ':id'), filters];

/** The endpoints of all commands that are one request or one list. */
async function endpointsOfCommands(): Promise<Named[]> {
  const all: Named[] = [];
  const kit = new CommandKit({ environment: {}, writeOut: () => undefined, writeError: () => undefined });
  const record = (...found: Parameters<typeof named>) => {
    all.push(named(...found));
    return async () => undefined;
  };
  kit.sends = (endpoint) => record(endpoint);
  kit.lists = (path, { filters }) => record(`GET ${path}`, filters);
  for (const { load } of neededCommands([])) (await load())(new Command(), kit);
  return all;
}

describe('commands', () => {
  it('call endpoints of the admin API, with filters that their queries have', async () => {
    const rows = new Map(adminTable({} as AdminApiDependencies).map((row) => [`${row.method} ${row.path}`, row]));
    const commands = await endpointsOfCommands();
    assert.ok(commands.length > 30, String(commands.length));
    for (const [endpoint, filters] of commands) {
      const row = rows.get(endpoint);
      assert.ok(row !== undefined, `There is no ${endpoint}.`);
      if (filters.length === 0) continue;
      const { properties = {} } = z.toJSONSchema(row.querySchema!, { io: 'input', unrepresentable: 'any' });
      for (const filter of filters) assert.ok(filter in properties, `${endpoint} has no ${filter}.`);
    }
  });
});
