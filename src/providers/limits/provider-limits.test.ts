import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { parseConfig } from '../../config/load.ts';
import { createProviderLimits } from './provider-limits.ts';

describe('limits of a configuration', () => {
  it('count a route and a credential once, although the text has them twice', () => {
    const limited = '{ secret: one, limits: { requestsPerMinute: 1 } }';
    const route = '{ provider: acme, model: a, limits: { requestsPerMinute: 2 } }';
    const config = parseConfig(
      `
providers:
  acme: { protocol: chat, baseUrl: "https://acme.example/v1", apiKeys: [${limited}, ${limited}] }
models:
  large: { operations: [chat], price: { input: "1", output: "1" }, routes: [${route}, ${route}] }
`,
      'f',
      {},
    );
    const limits = createProviderLimits(config)!;
    assert.deepEqual(
      limits.subjects.map(({ use }) => use.id),
      ['credential acme secret:one', 'route acme large a'],
    );
    const before = limits.subjects.map(({ use }) => use);
    const after = createProviderLimits(config, limits)!;
    assert.deepEqual(
      after.subjects.map(({ use }) => use),
      before,
    );
  });
});
