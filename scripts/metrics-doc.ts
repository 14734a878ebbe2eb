import { metricRows } from '../src/telemetry/metrics.ts';
import { writeLastPart } from './generated-doc.ts';
import { markdownTable } from './markdown.ts';

/** Writes the table of `docs/metrics.md` from the metrics of the code. */

const rows = metricRows.map(({ name, type, labels, unit, help, ofWorkers = 'sum' }) => {
  const quoted = labels.map((label) => `\`${label}\``).join(', ');
  return [`\`${name}\``, type, quoted, unit, ofWorkers, help];
});
const heads = ['name', 'type', 'labels', 'unit', 'of workers', 'what it is'];

writeLastPart('docs/metrics.md', `${markdownTable(heads, rows)}\n`);
