import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { proposalsAt } from '../../console/src/features/catalog/completions.ts';
import { catalogJsonSchema } from '../../src/config/catalog-json-schema.ts';

const schema = catalogJsonSchema();
const preset = {
  name: 'deepseek',
  title: 'DeepSeek',
  keyVariable: 'DEEPSEEK_API_KEY',
  notes: [],
  providers: [
    {
      name: 'deepseek',
      protocol: 'chat',
      baseUrl: 'https://api.deepseek.com',
      vendor: null,
      auth: null,
      missingUsage: null,
      allows: [],
      dialect: { reasoning: 'thinking' },
    },
  ],
} as const;

const CATALOG = `providers:
  acme:
    protocol: chat # as documented
  beta: { protocol: messages, apiKey: "\${BETA_KEY}" }
models:
  large:
    description: |
      providers: not a section
    operations: [chat]
    routes:
      - provider: acme
        model: large-1
  openrouter/auto:free: { operations: [chat] }
`;

/** The proposals at the `|` of a text, which follows the catalog above. */
function proposed(text: string) {
  const whole = CATALOG + text;
  const offset = whole.lastIndexOf('|');
  const found = proposalsAt(whole.slice(0, offset) + whole.slice(offset + 1), offset, schema, {
    secrets: ['acme', 'beta'],
    presets: [preset],
  });
  return found === null ? null : { word: whole.slice(found.from, offset), ...found };
}
const labels = (text: string): string[] => (proposed(text)?.proposals ?? []).map(({ label }) => label);

describe('proposals for the text of the catalog', () => {
  it('are the sections at the start of a line, without those that the text has', () => {
    assert.deepEqual(labels('|'), ['billing', 'limits', 'plans', 'groups', 'priceSource']);
    assert.equal(proposed('gro|')!.word, 'gro');
  });

  it('are the limits of providers, routes and credentials, once for all forms of a credential', () => {
    const limits = ['requestsPerMinute', 'tokensPerMinute', 'concurrentCalls', 'dailyCostYuan', 'monthlyCostYuan'];
    for (const credential of ['apiKey: { ', 'apiKeys:\n    - ']) {
      const members = labels(`providers:\n  pool:\n    ${credential}|`).filter((label) => /^[a-z]+$/.test(label));
      assert.deepEqual(members, ['value', 'limits', 'file', 'secret', 'command']);
    }
    const credential = 'providers:\n  pool: { apiKeys: [{ secret: acme, limits: { ';
    assert.deepEqual(labels(`${credential}|`), limits);
    assert.deepEqual(labels(`${credential}requestsPerMinute: 1, |`), limits.slice(1));
    assert.deepEqual(labels('providers:\n  pool: { limits: { |'), limits);
    assert.deepEqual(labels('providers:\n  pool: { vendorLimits: |'), ['ignore', 'follow']);
    assert.deepEqual(labels('models:\n  large:\n    routes:\n      - provider: acme\n        limits: { |'), limits);
  });

  it('are the members by position, in blocks and in braces, without those that the mapping has', () => {
    const plan = labels('plans:\n  pro:\n    name: Pro\n    |');
    assert.ok(plan.includes('weeklyCalls') && !plan.includes('name') && !plan.includes('routes'));
    assert.deepEqual(labels('plans:\n  pro: { queue: { length: 1, |'), ['wait']);
    assert.ok(labels('groups:\n  gold: {\n    name: Gold,\n    |').includes('priceFactorBasisPoints'));
    assert.ok(labels('groups:\n  gold:\n    prices:\n      large: { |').includes('input'));
    assert.ok(labels('groups:\n  gold:\n    prices:\n      large:\n        later:\n        - |').includes('from'));
    assert.deepEqual(labels('groups:\n  gold:\n    prices:\n      large:\n        timeOfDay:\n          |'), [
      'id',
      'timezone',
      'peak',
      'offPeak',
    ]);
  });

  it('tell what a member does, and whether it is required', () => {
    const protocol = proposed('plans:\n  pro:\n    |')!.proposals.find(({ label }) => label === 'weeklyCalls');
    assert.deepEqual(protocol, {
      label: 'weeklyCalls',
      apply: 'weeklyCalls: ',
      info: 'Calls per week.',
      isRequired: true,
    });
  });

  it('are the words of a value', () => {
    const within = (text: string) => labels(text.replace(/^/, 'plans: {}\n'));
    assert.deepEqual(within('billing:\n  onClientAbort: |'), ['cancel', 'drain']);
    assert.deepEqual(within('billing: { onClientAbort: |'), ['cancel', 'drain']);
  });

  it('are the names that a value refers to', () => {
    assert.deepEqual(labels('groups:\n  gold:\n    providers: [acme, |'), ['acme', 'beta']);
    assert.deepEqual(labels('groups:\n  gold:\n    models:\n      - |'), ['large', 'openrouter/auto:free']);
    assert.deepEqual(labels('groups:\n  gold:\n    models: |'), ['[large]', '[openrouter/auto:free]']);
    assert.deepEqual(labels('limits:\n  models:\n    |'), ['large', 'openrouter/auto:free']);
    assert.ok(labels('groups:\n  gold:\n    prices:\n      |').includes('large'));
  });

  it('are whole providers of known vendors, and references to credentials', () => {
    const at = (text: string, mark: string) => {
      const offset = text.indexOf(mark);
      return proposalsAt(text.replace(mark, ''), offset, schema, { secrets: ['acme'], presets: [preset] })!.proposals;
    };
    const [provider] = at('providers:\n  d|', '|');
    assert.equal(
      provider!.apply,
      'deepseek:\n    protocol: chat\n    baseUrl: https://api.deepseek.com\n    apiKey: ${DEEPSEEK_API_KEY}\n    dialect: {"reasoning":"thinking"}',
    );
    const words = (text: string) => at(text, '|').map(({ label }) => label);
    assert.deepEqual(words('providers:\n  a:\n    apiKey: |'), ['{ secret: acme }', '${DEEPSEEK_API_KEY}']);
    assert.deepEqual(words('providers:\n  a: { apiKey: |'), ['{ secret: acme }', '"${DEEPSEEK_API_KEY}"']);
    assert.deepEqual(words('providers:\n  a:\n    apiKey: { secret: |'), ['acme']);
    assert.deepEqual(words('providers:\n  a:\n    protocol: |\n    baseUrl: x'), ['chat', 'messages']);
  });

  it('are none in comments, in blocks of text and after complete values', () => {
    for (const text of ['# |', 'plans: { a: b } |', 'billing:\n  timezone: |\n', 'x: |-\n  pro|']) {
      assert.deepEqual(labels(text), [], text);
    }
    assert.equal(proposed('billing:|'), null);
  });
});
