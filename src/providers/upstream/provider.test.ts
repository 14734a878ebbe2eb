import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { parseConfig } from '../../config/load.ts';
import { createProvider } from './provider.ts';

async function restates(protocol: string, cacheTokens: string): Promise<boolean> {
  const given = { protocol, baseUrl: 'http://127.0.0.1:1/api', apiKey: 'provider-secret-key-1', cacheTokens };
  const config = parseConfig(JSON.stringify({ providers: { acme: given }, models: {} }), 'faregate.yaml', {});
  const provider = createProvider('acme', config.providers.acme!);
  await provider.close();
  return provider.restatesUsage !== undefined;
}

describe('a provider', () => {
  it('transforms usage if its input excludes the cache, unless its protocol does so by definition', async () => {
    assert.equal(await restates('chat', 'excluded'), true);
    assert.equal(await restates('chat', 'auto'), false);
    assert.equal(await restates('messages', 'excluded'), false);
  });
});
