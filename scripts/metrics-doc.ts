import { metricRows } from '../src/telemetry/metrics.ts';
import { type GeneratedDoc, writeLastPart } from './generated-doc.ts';

/**
 * Writes the table of `docs/metrics.md` from the metrics of the code, so that the two cannot drift apart.
 *
 *   node scripts/metrics-doc.ts           writes it
 *   node scripts/metrics-doc.ts --check   exit code 1 if it is out of date
 */
const DOC: GeneratedDoc = { file: 'docs/metrics.md', command: 'node scripts/metrics-doc.ts' };

const rows = metricRows.map(({ name, type, labels, unit, help, ofWorkers = 'sum' }) => {
  const quoted = labels.map((label) => `\`${label}\``).join(', ');
  return `| \`${name}\` | ${type} | ${quoted} | ${unit} | ${ofWorkers} | ${help} |`;
});
const part = `| name | type | labels | unit | of workers | what it is |
|---|---|---|---|---|---|
${rows.join('\n')}
`;

writeLastPart(DOC, part);
