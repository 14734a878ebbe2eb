import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { parseConfig } from '../../config/load.ts';
import { compilePlans, type PlanTerms } from './plan.ts';

const config = (plan: object) =>
  parseConfig(
    `
providers: { p: { protocol: chat, baseUrl: "http://127.0.0.1:1/v1", apiKey: some-key } }
models:
  m: { aliases: [n], operations: [chat], price: { input: "1", output: "1" }, routes: [{ provider: p, model: x }] }
plans: ${JSON.stringify({ pro: { ...PRO, ...plan } })}
`,
    'test.yaml',
    {},
  );

const PRO = {
  name: 'Pro',
  fiveHourCalls: 600,
  weeklyCalls: 5_000,
  concurrency: 4,
  quotaTokens: 200_000_000,
  periodDays: 30,
  models: ['m'],
  inputByteLimit: '4MiB',
  outputTokenLimit: 32_000,
};

describe('plan terms', () => {
  it('come from the configuration, in bytes and milliseconds', () => {
    assert.deepEqual(compilePlans(config({ queue: { length: 5, wait: '20s' } })), [
      {
        id: 'pro',
        name: 'Pro',
        fiveHourCalls: 600,
        weeklyCalls: 5_000,
        concurrency: 4,
        quotaTokens: 200_000_000,
        periodDays: 30,
        sale: null,
        models: new Set(['m']),
        inputBytesMax: 4 * 1024 * 1024,
        outputTokensMax: 32_000,
        queue: { length: 5, waitMs: 20_000 },
      },
    ]);
  });

  it('have the price of a period and the time zone of the days over which it is spread', () => {
    const [{ sale }] = compilePlans(config({ priceYuan: '199.5' })) as [PlanTerms];
    assert.deepEqual(sale, { priceNano: 199_500_000_000n, timezone: 'Asia/Shanghai' });
  });

  it('have no queue by default', () => {
    assert.equal(compilePlans(config({}))[0]!.queue.length, 0);
  });

  it('are empty without plans', () => {
    const { plans: _plans, ...rest } = config({});
    assert.deepEqual(compilePlans({ ...rest, plans: {} }), []);
  });
});
