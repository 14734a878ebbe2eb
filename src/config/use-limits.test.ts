import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createProviderLimits } from '../providers/limits/provider-limits.ts';
import { catalogOf, REMOVED_SECRET, secretsIn } from './catalog-text.ts';
import { ConfigError, type Environment, parseConfig, parseConfigText } from './load.ts';
import { NOT_SHOWN, showConfig } from './shown.ts';

const ENVIRONMENT: Environment = { ACME_KEY: 'sk-acme', FAREGATE_SECRETS_KEY: 'of the gateway' };
const COST = 'cost: { input: "1", output: "2" }';

const catalogText = (provider: string, route: string): string => `providers:
  acme: { protocol: chat, baseUrl: "http://127.0.0.1:9/v1", ${provider} }
models:
  large: { operations: [chat], price: { input: "1", output: "2" }, routes: [{ provider: acme, model: l, ${route} }] }
`;

function problemsOf(provider: string, route = ''): string[] {
  const options = { catalog: { name: 'revision 1', text: catalogText(provider, route) }, withoutCredentialFiles: true };
  try {
    parseConfigText('catalog: database', '/etc/faregate/faregate.yaml', ENVIRONMENT, options);
    return [];
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return error.problems.map(({ key, message }) => `${key}: ${message}`);
  }
}

describe('limits in the configuration', () => {
  it('are those of providers, routes and credentials of every form', () => {
    assert.deepEqual(problemsOf('apiKey: { value: "${ACME_KEY}", limits: { concurrentCalls: 1 } }'), []);
    assert.deepEqual(
      problemsOf(
        `apiKeys: [{ secret: a, limits: { requestsPerMinute: 1 } }, { command: c, limits: { tokensPerMinute: 1 } }, { file: /run/secrets/k }],
        limits: { dailyCostYuan: "1" }`,
        `limits: { monthlyCostYuan: "1" }, ${COST}`,
      ),
      [],
    );
    assert.deepEqual(problemsOf('apiKey: { value: k, limits: { requests: 1 } }'), [
      'providers.acme.apiKey.limits.requests: Unknown key. Known keys here: requestsPerMinute, tokensPerMinute, concurrentCalls, dailyCostYuan, monthlyCostYuan.',
    ]);
  });

  it('of costs need the costs of all routes that they concern', () => {
    const message = 'This key requires "cost" at every route to acme. It is missing at models.large.routes[0].';
    assert.deepEqual(problemsOf('apiKey: k, limits: { dailyCostYuan: "1" }'), [
      `providers.acme.limits.dailyCostYuan: ${message}`,
    ]);
    assert.deepEqual(problemsOf('apiKeys: [{ secret: a, limits: { monthlyCostYuan: "1" } }]'), [
      `providers.acme.apiKeys.0.limits.monthlyCostYuan: ${message}`,
    ]);
    assert.deepEqual(problemsOf('apiKey: k', 'limits: { dailyCostYuan: "1" }'), [
      'models.large.routes.0.limits.dailyCostYuan: This key requires "cost" at the same route.',
    ]);
  });

  it('do not let a catalog of the database read secrets of the gateway', () => {
    assert.match(problemsOf('apiKey: { value: "${FAREGATE_SECRETS_KEY}" }')[0]!, /and not FAREGATE_SECRETS_KEY/);
    assert.match(
      problemsOf('apiKey: { file: /etc/passwd, limits: { concurrentCalls: 1 } }')[0]!,
      /can use only files in/,
    );
    assert.match(problemsOf('apiKey: k, timeouts: { connect: "${ACME_KEY}" }')[0]!, /can use variables only in/);
  });

  it('leave credentials secret', () => {
    const text = catalogText(
      'apiKeys: [{ value: canary-1, limits: { concurrentCalls: 1 } }, { value: "${ACME_KEY}" }]',
      '',
    );
    assert.deepEqual(secretsIn(text), [['providers', 'acme', 'apiKeys', 0, 'value']]);
    assert.ok(!catalogOf(text).includes('canary-1') && catalogOf(text).includes(REMOVED_SECRET));
    const config = parseConfig(text, 'f.yaml', ENVIRONMENT);
    const shown = showConfig(config) as { providers: { acme: { apiKeys: unknown } } };
    assert.deepEqual(shown.providers.acme.apiKeys, [
      { value: NOT_SHOWN, limits: { concurrentCalls: 1 } },
      { value: NOT_SHOWN },
    ]);
  });

  it('of a credential or a route that is in a list twice are those of the first', () => {
    const keys = [1, 2].map((count) => `{ secret: a, limits: { requestsPerMinute: ${count} } }`).join(', ');
    const route = (limits: string) => `{ provider: acme, model: l, limits: { ${limits} } }`;
    const text = `providers:
  acme: { protocol: chat, baseUrl: "http://127.0.0.1:9/v1", apiKeys: [${keys}] }
models:
  large: { operations: [chat], price: { input: "1", output: "2" }, routes: [${route('concurrentCalls: 3')}, ${route('concurrentCalls: 4')}] }
`;
    const limits = createProviderLimits(parseConfig(text, 'f.yaml', {}))!;
    assert.deepEqual(
      limits.subjects.map(({ use }) => [use.id, use.limits.requestsPerMinute ?? use.limits.concurrentCalls]),
      [
        ['credential acme secret:a', 1],
        ['route acme large l', 3],
      ],
    );
  });

  it('keep what was used if the configuration changes and credentials are reordered', () => {
    const limitsOf = (keys: readonly string[]) => {
      const list = keys.map((name) => `{ secret: ${name}, limits: { concurrentCalls: 1 } }`).join(', ');
      return parseConfig(catalogText(`apiKeys: [${list}]`, 'limits: { requestsPerMinute: 5 }'), 'f.yaml', {});
    };
    const before = createProviderLimits(limitsOf(['a', 'b']))!;
    const use = before.subjects.find(({ credentialId }) => credentialId === 'secret:a')!.use;
    use.begin(0, 0);
    const after = createProviderLimits(limitsOf(['b', 'a']), before)!;
    const moved = after.subjects.find(({ credential }) => credential === 'apiKeys.1')!;
    assert.equal(moved.use, use);
    assert.equal(after.ofRoute('large acme l')!.credentials.get('apiKeys.1'), use);
    assert.equal(createProviderLimits(parseConfig(catalogText('apiKey: k', ''), 'f.yaml', {}), after), null);
  });

  it('of credentials in files with long paths have short ids', () => {
    const text = catalogText(`apiKey: { file: /${'x'.repeat(3_000)}, limits: { concurrentCalls: 1 } }`, '');
    const config = parseConfig(text, 'f.yaml', {}, { withoutCredentialFiles: true });
    assert.match(createProviderLimits(config)!.subjects[0]!.credentialId, /^sha256:[0-9a-f]{64}$/);
  });
});
