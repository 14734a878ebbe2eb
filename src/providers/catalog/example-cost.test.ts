import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { parseConfig } from '../../config/load.ts';
import { costOfExample } from './example-cost.ts';

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
      later: [
        { from: '2026-11-01', nano: 55_000_000n },
        { from: '2026-12-01', nano: 108_000_000n },
      ],
    });
    assert.deepEqual(costOfExample(config, 'large', Date.parse('2026-11-01T00:00:00+08:00')), {
      model: 'large',
      nowNano: 55_000_000n,
      later: [{ from: '2026-12-01', nano: 27_000_000n }],
    });
  });

  it('is unknown for models that are not charged by token, or do not exist', () => {
    assert.equal(costOfExample(config, 'painter', 0), null);
    assert.equal(costOfExample(config, 'none', 0), null);
  });
});
