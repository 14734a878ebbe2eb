import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { catalogOf, editCatalog, joinConfig, REMOVED_SECRET, secretsIn, splitConfig } from './catalog-text.ts';
import { parseConfig } from './load.ts';
import { configTemplate } from './template.ts';

const NODE = `# faregate.yaml of Example Ltd.

# Where it listens
server:
  port: 8080   # restart
  # host: 0.0.0.0

`;
const PROVIDERS = `# Our vendors
providers:
  acme:
    protocol: chat
    baseUrl: https://api.acme.example/v1
    apiKey: "\${ACME_KEY}"
    # proxy: http://proxy.example:3128

`;
const LOG = `# Less noise
log:
  requests: refused
`;
const MODELS = `models:
  acme-large:
    operations: [chat]
    price: { input: 4.10, output: "16" }
    routes: [{ provider: acme, model: large-1 }]
# end
`;
const ENVIRONMENT = { ACME_KEY: 'key', ZHIPU_API_KEY: 'key', FAREGATE_TEST: 'x' };

describe('splitConfig and joinConfig', () => {
  it('divides a file by its sections, with their comments', () => {
    assert.deepEqual(splitConfig(NODE + PROVIDERS + LOG + MODELS), { node: NODE + LOG, catalog: PROVIDERS + MODELS });
  });

  it('leaves a file without catalog, and one without anything else', () => {
    assert.deepEqual(splitConfig(NODE), { node: NODE, catalog: '' });
    assert.deepEqual(splitConfig(MODELS), { node: '', catalog: MODELS });
    assert.deepEqual(splitConfig('# nothing\n'), { node: '# nothing\n', catalog: '' });
  });

  const files = {
    'a file': NODE + PROVIDERS + LOG + MODELS,
    'a file with the catalog first': PROVIDERS + MODELS + NODE,
    'a file without a last line break': (NODE + PROVIDERS + LOG + MODELS).trimEnd(),
    'document markers': `---\n${NODE}${PROVIDERS}${MODELS}...\n`,
    JSON: JSON.stringify(
      { server: { port: 8080 }, providers: { acme: { protocol: 'chat', baseUrl: 'https://a.example', apiKey: 'k' } } },
      null,
      2,
    ),
    'anchors that both parts use': `server: { host: &h acme }\n${PROVIDERS}${MODELS.replace('provider: acme', 'provider: *h')}`,
    'Windows line breaks': (NODE + PROVIDERS + LOG + MODELS).replaceAll('\n', '\r\n'),
    'the template': configTemplate,
  };
  for (const [name, text] of Object.entries(files)) {
    it(`joins the parts to the same configuration: ${name}`, () => {
      const environment = { ...ENVIRONMENT, ...variablesOf(text) };
      const { node, catalog } = splitConfig(text);
      const joined = joinConfig(node, catalog);
      assert.deepEqual(parseConfig(joined, 'f', environment), parseConfig(text, 'f', environment));
      assert.match(joined, /^catalog: file\b/m);
      // An export followed by a push changes nothing.
      assert.equal(splitConfig(joined).catalog, catalog);
      const inDatabase = parseConfig(editCatalog(node, [{ path: ['catalog'], value: 'database' }]), 'f', environment, {
        catalog: { name: 'revision 1', text: catalog },
      });
      assert.deepEqual({ ...inDatabase, catalog: 'file' }, parseConfig(text, 'f', environment));
    });
  }

  it('puts the catalog of the database into the file', () => {
    const joined = joinConfig(`catalog: database   # shared\n${NODE}`, PROVIDERS + MODELS);
    assert.equal(joined, `catalog: file   # shared\n${NODE}\n${PROVIDERS}${MODELS}`);
  });
});

const SECRETS = `providers:
  plain: { apiKey: canary-1, headers: { X-Title: canary-2 }, proxy: "http://user:canary-3@proxy.example:3128" }
  several: { apiKeys: [canary-4, "\${KEY}", { file: /run/key }, "\${KEY:-canary-5}"] }
  referring:
    apiKey: { secret: acme }
    headers: { Authorization: "Bearer \${KEY}" }
    proxy: http://user:\${PASSWORD}@proxy.example:3128
  open: { apiKey: "\${KEY:-}", proxy: "http://proxy.example:3128", baseUrl: https://api.example }
  alias: { apiKey: &k canary-6 }
  second: { apiKeys: [*k] }
  limited: { apiKeys: [{ value: canary-7, limits: &l { requestsPerMinute: 1 } }, { value: "\${KEY}", limits: *l }, { value: *k, limits: *l }] }
`;

describe('secretsIn', () => {
  it('finds what is in the text itself, and nothing that only refers to a secret', () => {
    assert.deepEqual(
      secretsIn(SECRETS).map((path) => path.slice(1).join('.')),
      [
        'plain.apiKey',
        'plain.headers.X-Title',
        'plain.proxy',
        'several.apiKeys.0',
        'several.apiKeys.3',
        'alias.apiKey',
        'second.apiKeys.0',
        'limited.apiKeys.0.value',
        'limited.apiKeys.2.value',
      ],
    );
  });
});

describe('catalogOf', () => {
  it('replaces secrets, so that the text can still be read', () => {
    const text = NODE + PROVIDERS.replace('"${ACME_KEY}"', 'canary') + MODELS;
    const expected = PROVIDERS.replace('"${ACME_KEY}"', REMOVED_SECRET) + MODELS;
    assert.equal(catalogOf(text), expected);
    assert.equal(parseConfig(expected, 'f', {}).providers.acme?.apiKey, REMOVED_SECRET);
    const limited = (key: string): string =>
      PROVIDERS.replace('"${ACME_KEY}"', `{ value: ${key}, limits: { concurrentCalls: 1 } }`);
    assert.equal(catalogOf(NODE + limited('canary')), limited(REMOVED_SECRET));
  });

  it('leaves no secret', () => {
    assert.doesNotMatch(catalogOf(SECRETS), /canary/);
    assert.match(catalogOf(SECRETS), /proxy: http:\/\/\(not-shown\)@proxy\.example:3128 /);
    assert.equal(catalogOf('server: { port: 1 }\n'), '');
  });
});

function variablesOf(text: string): Record<string, string> {
  return Object.fromEntries([...text.matchAll(/\$\{([A-Z_]+)\}/g)].map(([, name]) => [name!, 'some-key']));
}
