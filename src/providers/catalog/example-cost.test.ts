import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { parseConfig } from '../../config/load.ts';
import { costOfExample, marginPercent } from './example-cost.ts';

const config = parseConfig(
  `
billing: { timezone: Asia/Shanghai }
providers:
  acme: { protocol: chat, baseUrl: https://acme.example/v1, apiKey: secret }
models:
  large:
    operations: [chat]
    price:
      input: "4"
      output: "16"
      later:
        - { from: 2026-11-01, input: "4", output: "15" }
        - from: 2026-12-01
          input: "4"
          output: "14"
          timeOfDay:
            id: day
            timezone: Asia/Shanghai
            peak: { hours: ["09:00-21:00"], input: "8", output: "28" }
            offPeak: { input: "2", output: "7" }
    routes: [{ provider: acme, model: l }]
  painter:
    operations: [images.generate]
    price: { perImage: "1" }
    routes: [{ provider: acme, model: p }]
`,
  'f',
  {},
);

describe('costOfExample', () => {
  it('is the charge now and from each later start on, at the same time of day', () => {
    assert.deepEqual(costOfExample(config, 'large', Date.parse('2026-10-01T12:00:00+08:00')), {
      model: 'large',
      nowNano: 56_000_000n,
      costNano: null,
      later: [
        { from: '2026-11-01', nano: 55_000_000n },
        { from: '2026-12-01', nano: 108_000_000n },
      ],
    });
    assert.deepEqual(costOfExample(config, 'large', Date.parse('2026-11-01T00:00:00+08:00')), {
      model: 'large',
      nowNano: 55_000_000n,
      costNano: null,
      later: [{ from: '2026-12-01', nano: 27_000_000n }],
    });
  });

  it('has the cost of the dearest route, and leaves a margin', () => {
    const costs = ['{ input: "3", output: "12" }', '{ input: "5", output: "20" }'];
    const routes = costs.map((cost) => `{ provider: acme, model: l, cost: ${cost} }`).join(', ');
    const priced = (input: string) =>
      parseConfig(
        `
providers:
  acme: { protocol: chat, baseUrl: https://acme.example/v1, apiKey: secret }
models:
  large: { operations: [chat], price: { input: "${input}", output: "16" }, routes: [${routes}] }
`,
        'f',
        {},
      );
    assert.equal(costOfExample(priced('4'), 'large', 0)!.costNano, 70_000_000n);
    for (const [input, margin] of [
      ['4', '-25'],
      ['5.4', '0'],
      ['6', '7.89'],
      ['12.4', '50'],
      ['5.3', '-1.45'],
    ] as const) {
      assert.equal(marginPercent(costOfExample(priced(input), 'large', 0)!), margin, input);
    }
    assert.equal(marginPercent({ nowNano: 0n, costNano: 1n }), null);
    assert.equal(marginPercent({ nowNano: 1n, costNano: null }), null);
  });

  it('is unknown for models that are not charged by token, or do not exist', () => {
    assert.equal(costOfExample(config, 'painter', 0), null);
    assert.equal(costOfExample(config, 'none', 0), null);
  });
});
