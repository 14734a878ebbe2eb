import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { parseConfig } from '../../config/load.ts';
import { endpointAliases } from './aliases.ts';
import { endpointTable } from './table.ts';
import { createUnknownAddresses } from './unknown-address.ts';

describe('a malformed HTTP request', () => {
  const names = ['altproto'];
  const config = parseConfig(`server: { protocolNames: { messages: [${names.join()}] } }`, 'test.yaml', {});
  const table = endpointTable(config);
  const unknown = createUnknownAddresses(table, names);

  it('gets the envelope of its endpoint, also at aliases', () => {
    for (const { path, envelope } of [...table, ...endpointAliases(table, names)]) {
      assert.equal(unknown.envelopeOf(path, {}).name, envelope.name, path);
      assert.equal(unknown.envelopeOf(`${path}?beta=true`, {}).name, envelope.name, path);
    }
  });
});
