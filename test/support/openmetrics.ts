import assert from 'node:assert/strict';

/** A sample: one line of OpenMetrics text. */
export interface MetricSample {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  /** Verbatim. */
  readonly value: string;
}

export interface MetricsText {
  readonly samples: readonly MetricSample[];
  /** Types by name of the metric; names of counters without `_total`. */
  readonly types: ReadonlyMap<string, string>;
  /** The sum of the samples that have at least these labels. */
  sum(name: string, labels?: Readonly<Record<string, string>>): number;
  /** The sums by one label, without zeros. */
  by(name: string, label: string): Record<string, number>;
}

const SAMPLE = /^([a-z_][a-z0-9_]*)(?:\{(.*)\})? (\S+)$/;
const LABEL = /([a-z_][a-z0-9_]*)="((?:[^"\\]|\\.)*)"(?:,|$)/g;

/** Parses OpenMetrics text. Fails on an invalid line. */
export function readMetrics(text: string): MetricsText {
  assert.ok(text.endsWith('\n# EOF\n'), 'a text of OpenMetrics says where it ends');
  const types = new Map<string, string>();
  const samples: MetricSample[] = [];
  for (const line of text.trimEnd().split('\n')) {
    if (line.startsWith('# TYPE ')) {
      const [, , name, type] = line.split(' ');
      assert.ok(!types.has(name!), `${name} is there twice`);
      types.set(name!, type!);
    } else if (!line.startsWith('#')) {
      const match = SAMPLE.exec(line);
      assert.ok(match !== null, `not a sample: ${line}`);
      const labels = Object.fromEntries(
        [...(match[2] ?? '').matchAll(LABEL)].map(([, label, value]) => [label!, value!]),
      );
      samples.push({ name: match[1]!, labels, value: match[3]! });
    }
  }
  const having = (name: string, labels: Readonly<Record<string, string>>) =>
    samples.filter(
      (sample) =>
        sample.name === name && Object.entries(labels).every(([label, value]) => sample.labels[label] === value),
    );
  return {
    samples,
    types,
    sum: (name, labels = {}) => having(name, labels).reduce((sum, { value }) => sum + Number(value), 0),
    by(name, label) {
      const sums: Record<string, number> = {};
      for (const { labels, value } of having(name, {})) {
        if (Number(value) !== 0) sums[labels[label]!] = (sums[labels[label]!] ?? 0) + Number(value);
      }
      return sums;
    },
  };
}
