import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ALERTS_FILE, alertRules, dashboard, namedMetrics } from '../support/deploy.ts';
import { runTool } from '../support/tools.ts';

/** `metrics.test.ts` checks that a real gateway exports every metric that these files use. */
describe('alert rules', () => {
  const rules = alertRules();

  it('have a name, an expression, a severity, and advice', () => {
    assert.ok(rules.length > 15);
    assert.equal(new Set(rules.map(({ alert }) => alert)).size, rules.length);
    for (const { alert, expr, labels, annotations, ...rest } of rules) {
      assert.match(alert, /^Faregate[A-Z][A-Za-z]+$/);
      assert.ok(namedMetrics(expr).length > 0 || expr.startsWith('up{'), alert);
      assert.ok(['page', 'ticket'].includes(labels.severity), alert);
      assert.deepEqual(Object.keys(annotations), ['summary', 'description'], alert);
      assert.deepEqual(
        Object.keys(rest).filter((key) => key !== 'for'),
        [],
        alert,
      );
      if (rest.for !== undefined) assert.match(rest.for, /^\d+[smh]$/, alert);
      assertBalanced(expr);
    }
  });

  it('pass promtool, if installed', (t) => {
    const result = runTool(t, 'promtool', ['check', 'rules', ALERTS_FILE]);
    if (result !== null) assert.equal(result.status, 0, result.stdout + result.stderr);
  });
});

describe('dashboard', () => {
  const { panels, templating } = dashboard();

  it('has a unit, a title, expressions and a distinct position in every panel', () => {
    const places = new Set<string>();
    for (const { type, title, gridPos, targets, fieldConfig } of panels) {
      assert.ok(title.length > 0);
      assert.ok(gridPos.x + gridPos.w <= 24, title);
      const place = `${gridPos.x} ${gridPos.y}`;
      assert.ok(!places.has(place), `${title}: ${place}`);
      places.add(place);
      if (type === 'row') continue;
      assert.ok(fieldConfig!.defaults.unit.length > 0, title);
      assert.ok(targets!.length > 0, title);
      for (const { expr } of targets!) {
        assertBalanced(expr);
        assert.ok(namedMetrics(expr).length > 0, title);
        assert.ok(expr.includes('instance=~"$instance"'), `${title}: a node can be chosen`);
      }
    }
    assert.equal(new Set(panels.map(({ id }) => id)).size, panels.length);
    assert.deepEqual(
      templating.list.map(({ name }) => name),
      ['datasource', 'instance'],
    );
  });

  it('shows traffic, errors, money, latency, providers, the database and the process', () => {
    const rows = panels.filter(({ type }) => type === 'row').map(({ title }) => title);
    assert.deepEqual(rows, [
      ...['Now', 'Traffic', 'Errors', 'Money', 'Latency', 'Providers and breakers', 'Database and journal', 'Process'],
    ]);
  });
});

function assertBalanced(expr: string): void {
  for (const [open, close] of ['()', '{}', '[]']) {
    assert.equal(expr.split(open!).length, expr.split(close!).length, expr);
  }
}
