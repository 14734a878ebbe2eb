import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { closestName } from './suggest.ts';

const KEYS = ['host', 'port', 'bodyLimit', 'protocolNames', 'dailySpendCapYuan'];

describe('closestName', () => {
  it('finds the name behind a typing error', () => {
    assert.equal(closestName('hots', KEYS), 'host');
    assert.equal(closestName('bodyLimt', KEYS), 'bodyLimit');
    assert.equal(closestName('protocolName', KEYS), 'protocolNames');
  });

  it('ignores case, underscores and hyphens', () => {
    assert.equal(closestName('bodylimit', KEYS), 'bodyLimit');
    assert.equal(closestName('BODY_LIMIT', KEYS), 'bodyLimit');
    assert.equal(closestName('protocol-names', KEYS), 'protocolNames');
  });

  it('finds a long name from its beginning', () => {
    assert.equal(closestName('dailySpendCap', KEYS), 'dailySpendCapYuan');
  });

  it('prefers the closest of several', () => {
    assert.equal(closestName('model-2', ['model-1', 'model-22', 'model-2x']), 'model-1');
    assert.equal(closestName('ports', ['post', 'port']), 'port');
  });

  it('finds nothing if no name is close', () => {
    assert.equal(closestName('temperature', KEYS), null);
    assert.equal(closestName('x', ['id', 'db']), null);
    assert.equal(closestName('host', []), null);
  });
});
