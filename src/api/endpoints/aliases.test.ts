import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { parseConfig } from '../../config/load.ts';
import { endpointAliases, pathParts } from './aliases.ts';
import { endpointTable } from './table.ts';

function aliasesOf(messages: readonly string[]) {
  const config = parseConfig(`server: { protocolNames: { messages: [${messages.join()}] } }`, 'test.yaml', {});
  const table = endpointTable(config);
  return { table, aliases: endpointAliases(table, messages) };
}

describe('aliases of endpoints', () => {
  it('are never addresses of the table, and each belongs to one endpoint', () => {
    const { table, aliases } = aliasesOf(['altproto', 'other']);
    const addresses = [...table, ...aliases].map(({ method, path }) => `${method} ${path}`);
    assert.equal(new Set(addresses).size, addresses.length);
  });

  it('equal their endpoint except for the path', () => {
    const { table, aliases } = aliasesOf(['altproto']);
    const { path: _path, ...alias } = aliases.find(({ path }) => path === '/v1/coding/altproto/v1/messages')!;
    const { path: _meant, ...meant } = table.find(({ path }) => path === '/v1/coding/altproto/messages')!;
    assert.deepEqual(alias, meant);
  });

  it('differ from their endpoint by one v1 segment', () => {
    const { table, aliases } = aliasesOf(['altproto', 'other']);
    const segments = (path: string) => path.split('/').filter((segment) => segment !== 'v1');
    for (const { path } of aliases) {
      const meant = table.filter((endpoint) => segments(endpoint.path).join() === segments(path).join());
      const lengths = meant.map((endpoint) => Math.abs(endpoint.path.split('/').length - path.split('/').length));
      assert.ok(lengths.includes(1), path);
    }
  });

  it('do not exist if two endpoints could be meant', () => {
    // With this name, /coding/models is one segment away from both /v1/coding/models and /coding/v1/models.
    const { aliases } = aliasesOf(['coding']);
    assert.ok(!aliases.some(({ path }) => path === '/coding/models'));
    assert.ok(aliases.some(({ path }) => path === '/coding/chat/completions'));
  });

  it('keep the resource separate from the base address', () => {
    assert.deepEqual(pathParts('/v1/coding/altproto/messages/count_tokens', ['altproto']), {
      base: ['v1', 'coding', 'altproto'],
      resource: ['messages', 'count_tokens'],
    });
    assert.deepEqual(pathParts('/v1', []), { base: ['v1'], resource: [] });
  });
});
