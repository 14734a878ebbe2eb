import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Histogram, type OpenMetricsContentType, Registry } from 'prom-client';
import { Distributions } from './distribution.ts';
import { registerDistributions } from './exposition.ts';

function createRegistry(): Registry<OpenMetricsContentType> {
  const registry = new Registry<OpenMetricsContentType>();
  registry.setContentType(Registry.OPENMETRICS_CONTENT_TYPE);
  return registry;
}

describe('distribution', () => {
  it('has the same text as a prom-client histogram with the same observations', async () => {
    const [ours, theirs] = [createRegistry(), createRegistry()];
    const buckets = [0.5, 1, 2.5];
    const row = {
      type: 'histogram',
      name: 'test_seconds',
      labels: ['a', 'b'],
      unit: 'seconds',
      help: 'Help.',
      buckets,
    } as const;
    const distributions = new Distributions(row);
    registerDistributions(distributions, ours);
    const reference = new Histogram({
      name: row.name,
      help: row.help,
      labelNames: row.labels,
      buckets,
      registers: [theirs],
    });
    for (const [a, b] of [
      ['x', 'y'],
      ['x', 'with "quotes"'],
    ] as const) {
      const distribution = distributions.add(a, b);
      for (const value of [0, 0.5, 0.51, 1, 2.4, 2.5, 2.6, 100]) {
        distribution.observe(value);
        reference.labels(a, b).observe(value);
      }
    }
    const sorted = (text: string) =>
      text.replace(/\{(.*)\}/g, (_all, labels: string) => labels.split(',').sort().join()).split('\n');
    assert.deepEqual(sorted(await ours.metrics()), sorted(await theirs.metrics()));
  });
});
