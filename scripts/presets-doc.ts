import { presets } from '../src/config/presets.ts';
import { type GeneratedDoc, writeLastPart } from './generated-doc.ts';

/**
 * Writes the table of `docs/presets.md` from the presets of the code.
 *
 *   node scripts/presets-doc.ts           writes it
 *   node scripts/presets-doc.ts --check   exit code 1 if it is out of date
 */
const DOC: GeneratedDoc = { file: 'docs/presets.md', command: 'node scripts/presets-doc.ts' };

const rows = presets.map(({ name, title, providers, keyVariable, notes, source, readOn }) => {
  const addresses = providers.map(({ protocol, baseUrl }) => `${protocol} \`${baseUrl}\``).join('<br>');
  return `| \`${name}\` | ${title} | ${addresses} | \`${keyVariable}\` | ${notes.join(' ')} | ${source}, ${readOn} |`;
});

writeLastPart(
  DOC,
  `| name | vendor | speaks, at | key | | read from |
|---|---|---|---|---|---|
${rows.join('\n')}
`,
);
