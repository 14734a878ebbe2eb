import { dialectYaml } from '../src/config/dialect-yaml.ts';
import { credentialHeader, notesOf, type Preset, type PresetProvider, presets } from '../src/config/presets.ts';
import { writeLastPart } from './generated-doc.ts';

/** Writes the table of `docs/presets.md` from the presets of the code. */

const rows = presets.map((preset) => {
  const { name, title, providers, keyVariable, source, readOn } = preset;
  const addresses = providers.map(({ protocol, baseUrl }) => `${protocol} \`${baseUrl}\``);
  const cells = [
    `\`${name}\``,
    title,
    addresses.join('<br>'),
    headersOf(providers),
    `\`${keyVariable}\``,
    usageOf(providers),
    remarksOf(preset),
    `${source}, ${readOn}`,
  ];
  return `| ${cells.join(' | ')} |`;
});

/** One header, or one per protocol. */
function headersOf(providers: readonly PresetProvider[]): string {
  const headers = providers.map((provider) => `\`${credentialHeader(provider)}\``);
  if (new Set(headers).size === 1) return headers[0]!;
  return providers.map(({ protocol }, index) => `${protocol} ${headers[index]}`).join('<br>');
}

function usageOf(providers: readonly PresetProvider[]): string {
  return providers.some(({ missingUsage }) => missingUsage === 'estimate') ? 'estimated if missing' : '';
}

function remarksOf(preset: Preset): string {
  const { lacks = [], providers } = preset;
  const dialects = providers.flatMap(({ dialect }) => (dialect === undefined ? [] : [`\`${dialectYaml(dialect)}\`.`]));
  const allowed = providers.flatMap(({ allows = [] }) => allows.map((part) => `\`${part}\``));
  return [
    ...(allowed.length === 0 ? [] : [`Allows ${allowed.join(', ')}.`]),
    ...dialects,
    ...(lacks.length === 0 ? [] : [`No ${lacks.join(', ')} at this address.`]),
    ...notesOf(preset),
  ].join(' ');
}

writeLastPart(
  'docs/presets.md',
  `| name | vendor | speaks, at | takes the key as | from | usage | | read from |
|---|---|---|---|---|---|---|---|
${rows.join('\n')}
`,
);
