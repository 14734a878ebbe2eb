import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { editCatalog } from './catalog-text.ts';
import { difference } from './difference.ts';
import { sentenceOf } from './difference-text.ts';
import { parseConfig } from './load.ts';
import type { Config } from './schema.ts';
import { configTemplate } from './template.ts';
import type { Edit } from './yaml-text.ts';

const TEXT = `
billing: { timezone: Asia/Shanghai, dailySpendCapYuan: "100" }
limits: { requestsPerMinute: 60, models: { acme-large: { tokensPerMinute: 1000 } } }
providers:
  acme:
    protocol: chat
    baseUrl: https://api.acme.example/v1
    apiKey: canary-1
    headers: { X-Title: canary-2 }
    timeouts: { idle: 300s }
    allows: [tools.x_search]
    limits: { requestsPerMinute: 60 }
  spare: { protocol: chat, baseUrl: https://spare.example/v1, apiKeys: [canary-3, canary-4] }
  pooled:
    protocol: chat
    baseUrl: https://pooled.example/v1
    apiKeys: [{ secret: one, limits: { requestsPerMinute: 60 } }, { secret: two }]
models:
  acme-large:
    aliases: [large, large-latest]
    description: Large.
    operations: [chat]
    price:
      input: "4"
      output: "16"
      thinking: { input: "4", output: "20" }
      above: { "200000": { input: "8", output: "32" } }
      serviceTiers: { flex: "0.5" }
      official: { input: "5", output: "20", discountBasisPoints: 8000 }
      timeOfDay:
        id: day
        timezone: Asia/Shanghai
        peak: { hours: ["09:00-21:00"], input: "6", output: "24" }
        offPeak: { input: "3", output: "12" }
      later:
        - { from: 2026-11-01, input: "4", output: "15" }
    routes:
      - { provider: acme, model: large-1, cost: { input: "1", output: "3" } }
      - { provider: spare, model: large-1 }
  painter:
    operations: [images.generate]
    price: { perImage: { low: "0.1", high: { 1024x1024: "0.5" }, default: "1" } }
    routes: [{ provider: acme, model: p }]
plans:
  pro: { name: Pro, fiveHourCalls: 600, weeklyCalls: 5000, concurrency: 4, quotaTokens: 1000, periodDays: 30, models: [acme-large], inputByteLimit: 4MiB, outputTokenLimit: 100 }
groups:
  gold:
    name: Gold
    providers: [acme]
    prices: { acme-large: { input: "3", output: "12", later: [{ from: 2027-01-01, input: "3", output: "11" }] } }
    limits: { dailySpendCapYuan: "50" }
`;

const config = parse(TEXT);
const LARGE = ['models', 'acme-large'];
const PRICE = [...LARGE, 'price'];
const LATER = { input: '4', output: '15', from: '2026-12-01' };

const cases: readonly { edit: Edit; is: readonly string[] }[] = [
  { edit: { path: [...PRICE, 'output'], value: '14' }, is: ['acme-large: output ¥16 → ¥14'] },
  { edit: { path: [...PRICE, 'perWebSearch'], value: '0.30' }, is: ['acme-large: per web search ¥0.3 added'] },
  {
    edit: { path: [...PRICE, 'thinking', 'output'], value: '21' },
    is: ['acme-large: output with thinking ¥20 → ¥21'],
  },
  {
    edit: { path: [...PRICE, 'above', '200000', 'input'], value: '9' },
    is: ['acme-large: input above 200000 input tokens ¥8 → ¥9'],
  },
  {
    edit: { path: [...PRICE, 'timeOfDay', 'peak', 'output'], value: '25' },
    is: ['acme-large: output in peak hours ¥24 → ¥25'],
  },
  {
    edit: { path: [...PRICE, 'timeOfDay', 'peak', 'hours', 0], value: '08:00-21:00' },
    is: ['acme-large: hours in peak hours 09:00-21:00 removed', 'acme-large: hours in peak hours 08:00-21:00 added'],
  },
  {
    edit: { path: [...PRICE, 'serviceTiers', 'flex'], value: '0.6' },
    is: ['acme-large: service tier flex 0.5 → 0.6'],
  },
  {
    edit: { path: [...PRICE, 'official', 'discountBasisPoints'], value: 7500 },
    is: ['acme-large: official discount 80 % → 75 %'],
  },
  {
    edit: { path: [...PRICE, 'later', 0, 'output'], value: '14' },
    is: ['acme-large: output ¥15 → ¥14 from 2026-11-01'],
  },
  {
    edit: { path: [...PRICE, 'later', 1], value: { ...LATER, output: '14' } },
    is: ['acme-large: output ¥15 → ¥14 from 2026-12-01'],
  },
  { edit: { path: [...PRICE, 'later', 1], value: LATER }, is: ['acme-large: price from 2026-12-01 added'] },
  { edit: { path: [...PRICE, 'later', 0] }, is: ['acme-large: price from 2026-11-01 removed'] },
  { edit: { path: [...LARGE, 'aliases', 0] }, is: ['acme-large: alias large removed'] },
  {
    edit: { path: [...LARGE, 'aliases'], value: ['large-latest', 'large'] },
    is: ['acme-large: aliases large, large-latest → large-latest, large'],
  },
  {
    edit: { path: [...LARGE, 'description'], value: `Two\n${'x'.repeat(100)}` },
    is: [`acme-large: description Large. → Two\\u000a${'x'.repeat(76)}…`],
  },
  { edit: { path: [...LARGE, 'released'], value: '2026-10-01' }, is: ['acme-large: released 2026-10-01 added'] },
  {
    edit: { path: [...LARGE, 'routes', 1, 'weight'], value: 3 },
    is: ['acme-large: route spare/large-1 weight 1 → 3'],
  },
  {
    edit: { path: [...LARGE, 'routes', 0, 'cost', 'output'], value: '2' },
    is: ['acme-large: route acme/large-1 cost output ¥3 → ¥2'],
  },
  { edit: { path: [...LARGE, 'routes', 1] }, is: ['acme-large: route spare/large-1 removed'] },
  {
    edit: { path: [...LARGE, 'routes', 2], value: { provider: 'spare', model: 'large-1', weight: 2 } },
    is: ['acme-large: route spare/large-1 #2 added'],
  },
  {
    edit: { path: ['models', 'painter', 'price', 'perImage', 'high', '1024x1024'], value: '0.6' },
    is: ['painter: per image high 1024x1024 ¥0.5 → ¥0.6'],
  },
  {
    edit: { path: ['models', 'painter', 'price', 'perImage'], value: '2' },
    is: [
      'painter: per image low ¥0.1 removed',
      'painter: per image high 1024x1024 ¥0.5 removed',
      'painter: per image ¥1 → ¥2',
    ],
  },
  {
    edit: {
      path: ['models', 'tiny'],
      value: { operations: ['chat'], price: { input: '1', output: '2' }, routes: [{ provider: 'acme', model: 't' }] },
    },
    is: ['tiny: model added', 'tiny: input ¥1 added', 'tiny: output ¥2 added'],
  },
  { edit: { path: ['models', 'painter'] }, is: ['painter: model removed'] },
  { edit: { path: ['providers', 'acme', 'apiKey'], value: 'canary-9' }, is: ['acme: credential changed'] },
  { edit: { path: ['providers', 'spare', 'apiKeys', 1] }, is: ['spare: credentials changed'] },
  {
    edit: { path: ['providers', 'acme', 'headers', 'X-Title'], value: 'canary-9' },
    is: ['acme: header X-Title changed'],
  },
  { edit: { path: ['providers', 'acme', 'headers', 'X-Two'], value: 'canary-9' }, is: ['acme: header X-Two added'] },
  { edit: { path: ['providers', 'acme', 'timeouts', 'idle'], value: '60s' }, is: ['acme: timeouts idle 5m → 1m'] },
  { edit: { path: ['providers', 'acme', 'allows'], value: [] }, is: ['acme: allows tools.x_search removed'] },
  {
    edit: { path: ['providers', 'acme', 'limits', 'requestsPerMinute'], value: 100 },
    is: ['acme: requests per minute 60 → 100'],
  },
  {
    edit: { path: ['providers', 'acme', 'apiKey'], value: { value: 'canary-1', limits: { tokensPerMinute: 5 } } },
    is: ['acme: credential tokens per minute 5 added'],
  },
  {
    edit: { path: ['providers', 'acme', 'apiKey'], value: { secret: 'one', limits: { tokensPerMinute: 5 } } },
    is: ['acme: credential secret one changed', 'acme: credential tokens per minute 5 added'],
  },
  {
    edit: { path: ['providers', 'acme', 'vendorLimits'], value: 'follow' },
    is: ['acme: vendor limits ignore → follow'],
  },
  {
    edit: { path: ['providers', 'pooled', 'apiKeys', 0, 'limits', 'requestsPerMinute'], value: 100 },
    is: ['pooled: credential secret one requests per minute 60 → 100'],
  },
  { edit: { path: ['providers', 'pooled', 'apiKeys', 0] }, is: ['pooled: credential secret one removed'] },
  {
    edit: { path: ['providers', 'spare', 'apiKeys', 1], value: { value: 'canary-4', limits: { concurrentCalls: 2 } } },
    is: ['spare: credential 2 concurrent calls 2 added'],
  },
  {
    edit: { path: [...LARGE, 'routes', 0, 'limits'], value: { dailyCostYuan: '5' } },
    is: ['acme-large: route acme/large-1 daily cost ¥5 added'],
  },
  {
    edit: { path: [...LARGE, 'routes', 1, 'limits'], value: { tokensPerMinute: 1000 } },
    is: ['acme-large: route spare/large-1 tokens per minute 1000 added'],
  },
  { edit: { path: ['billing', 'timezone'], value: 'UTC' }, is: ['billing: timezone Asia/Shanghai → UTC'] },
  { edit: { path: ['billing', 'dailySpendCapYuan'] }, is: ['billing: daily spend cap ¥100 removed'] },
  { edit: { path: ['limits', 'requestsPerMinute'], value: 90 }, is: ['limits: requests per minute 60 → 90'] },
  {
    edit: { path: ['limits', 'models', 'acme-large', 'tokensPerMinute'], value: 90 },
    is: ['limits: model acme-large tokens per minute 1000 → 90'],
  },
  { edit: { path: ['plans', 'pro', 'models', 1], value: 'painter' }, is: ['pro: model painter added'] },
  { edit: { path: ['plans', 'pro', 'inputByteLimit'], value: '8MiB' }, is: ['pro: input byte limit 4MiB → 8MiB'] },
  {
    edit: { path: ['groups', 'gold', 'priceFactorBasisPoints'], value: 8000 },
    is: ['gold: price factor 100 % → 80 %'],
  },
  {
    edit: { path: ['groups', 'gold', 'prices', 'acme-large', 'output'], value: '13' },
    is: ['gold: acme-large output ¥12 → ¥13'],
  },
  {
    edit: { path: ['groups', 'gold', 'prices', 'acme-large', 'later', 0, 'output'], value: '10' },
    is: ['gold: acme-large output ¥11 → ¥10 from 2027-01-01'],
  },
  {
    edit: { path: ['groups', 'gold', 'prices', 'acme-large', 'later'] },
    is: ['gold: price acme-large from 2027-01-01 removed'],
  },
  {
    edit: { path: ['groups', 'gold', 'limits', 'tokensPerMinute'], value: 5 },
    is: ['gold: tokens per minute 5 added'],
  },
  { edit: { path: ['groups', 'gold'] }, is: ['gold: group removed'] },
];

describe('difference', () => {
  for (const { edit, is } of cases) {
    it(is.join('; '), () => {
      const edited = parse(editCatalog(TEXT, [edit]));
      const changes = difference(config, edited);
      assert.deepEqual(changes.map(sentenceOf), is);
      assert.doesNotMatch(JSON.stringify([changes, difference(edited, config)]), /canary/);
      assert.notEqual(difference(edited, config).length, 0);
    });
  }

  it('names the setting, the values and the start', () => {
    const edit = { path: ['groups', 'gold', 'prices', 'acme-large', 'later', 0, 'output'], value: '10' };
    assert.deepEqual(difference(config, parse(editCatalog(TEXT, [edit]))), [
      {
        section: 'groups',
        name: 'gold',
        kind: 'changed',
        setting: 'prices[acme-large].output',
        before: '¥11',
        after: '¥10',
        from: '2027-01-01',
      },
    ]);
  });

  it('is empty if the catalogs are equal, whatever the order of keys', () => {
    const reversed = { ...config, models: Object.fromEntries(Object.entries(config.models).reverse()) };
    assert.deepEqual(difference(config, reversed), []);
    assert.deepEqual(difference(config, parse(TEXT)), []);
  });

  // A setting that this misses could change without a reviewer seeing it.
  it('shows every value of the catalog that changes', () => {
    const variables = [...configTemplate.matchAll(/\$\{([A-Z_]+)\}/g)].map((match) => [match[1]!, 'some-key']);
    const template = parseConfig(configTemplate, 'f', Object.fromEntries(variables));
    for (const given of [config, template]) {
      for (const path of leafPaths(given)) {
        const copy = structuredClone(given);
        const parent = path.slice(0, -1).reduce<Record<string, unknown>>((value, key) => value[key] as never, copy);
        const key = path.at(-1)!;
        parent[key] = another(parent[key]);
        assert.notDeepEqual(difference(given, copy), [], path.join('.'));
        for (const change of difference(given, copy)) assert.ok(sentenceOf(change).length > 0);
        if (Array.isArray(parent)) continue;
        delete parent[key];
        assert.notDeepEqual(difference(given, copy), [], `${path.join('.')} deleted`);
      }
    }
  });
});

function parse(text: string): Config {
  return parseConfig(text, 'f', {});
}

const SECTIONS = ['billing', 'limits', 'providers', 'models', 'plans', 'groups'];

function leafPaths(value: unknown, path: readonly string[] = []): string[][] {
  if (typeof value !== 'object' || value === null) return [[...path]];
  return Object.entries(value)
    .filter(([key, member]) => member !== undefined && (path.length > 0 || SECTIONS.includes(key)))
    .flatMap(([key, member]) => leafPaths(member, [...path, key]));
}

function another(value: unknown): unknown {
  if (typeof value === 'bigint') return value + 1n;
  if (typeof value === 'number') return value + 1;
  return typeof value === 'boolean' ? !value : `${String(value)}-other`;
}
