import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { metricRows } from './metrics.ts';

/** Labels with a bounded set of values, from the configuration or from lists in the code. */
const LABELS = new Set([
  ...[
    'code',
    'credential',
    'effect',
    'engine',
    'from',
    'http_status',
    'kind',
    'lane',
    'limit',
    'member',
    'model',
    'name',
    'node_version',
    'of',
    'partition',
    'place',
    'pool',
    'provider',
  ],
  ...['provider_model', 'result', 'state', 'status', 'to', 'unit', 'version'],
]);

describe('metric rows', () => {
  it('have unique names that follow the OpenMetrics rules', () => {
    assert.equal(new Set(metricRows.map(({ name }) => name)).size, metricRows.length);
    for (const { name, type, unit } of metricRows) {
      assert.match(name, /^faregate(_[a-z0-9]+)+$/);
      assert.equal(name.endsWith('_total'), type === 'counter', name);
      // Reserved for histograms.
      assert.doesNotMatch(name, /_(sum|count|bucket)$/);
      const isBase = ['seconds', 'bytes', 'yuan'].includes(unit);
      if (isBase) assert.ok(name.replace(/_total$/, '').endsWith(`_${unit}`), name);
      else assert.doesNotMatch(name, /_(seconds|bytes|yuan)(_total)?$/);
    }
  });

  it('only have labels with a bounded set of values', () => {
    for (const { name, labels } of metricRows)
      for (const label of labels) assert.ok(LABELS.has(label), `${name} ${label}`);
  });
});
