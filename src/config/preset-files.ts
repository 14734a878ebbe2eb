import { dialectYaml } from './dialect-yaml.ts';
import { notesOf, type Preset } from './presets.ts';
import { CATALOG_HEAD, catalogPlace } from './template.ts';

/** A configuration file for the preset, with the catalog in it. Comments in the file explain the next steps. */
export function presetConfig(preset: Preset): string {
  return `${headOf(preset)}${DATABASE}\n${settingsOf(preset)}`;
}

/** Files for the preset, with the catalog in the database. It begins with the content of the file `initialCatalog`. */
export function presetFiles(
  preset: Preset,
  initialCatalog: string,
): { readonly node: string; readonly catalog: string } {
  return {
    node: `# Faregate. "faregate init" without --provider writes a file with all settings.\n\n${DATABASE}\n${catalogPlace(initialCatalog)}`,
    catalog: `${CATALOG_HEAD}\n${headOf(preset)}${settingsOf(preset)}`,
  };
}

const DATABASE = `database:
  # Empty: a local PostgreSQL with its files in dataDir. Otherwise postgres://user:password@host/name.
  url: \${DATABASE_URL:-}
  dataDir: ./data
`;

function headOf(preset: Preset): string {
  const { title, source, readOn } = preset;
  return `# Faregate with ${title}. "faregate init" without --provider writes a file with all settings.
# Addresses as of ${readOn}, from ${source}.
${notesOf(preset)
  .map((note) => `# ${note}\n`)
  .join('')}
`;
}

function settingsOf({ providers, keyVariable }: Preset): string {
  const settings = providers.flatMap(({ name, protocol, baseUrl, vendor, auth, missingUsage, allows, dialect }) => [
    `  ${name}:`,
    `    protocol: ${protocol}`,
    `    baseUrl: ${baseUrl}`,
    `    apiKey: \${${keyVariable}}`,
    ...(vendor === undefined ? [] : [`    vendor: ${vendor}`]),
    ...(auth === undefined ? [] : [`    auth: ${auth}`]),
    ...(missingUsage === undefined
      ? []
      : ['    # Usage is estimated if a response reports none.', `    missingUsage: ${missingUsage}`]),
    ...(allows === undefined
      ? []
      : ["    # Tools of this vendor's own.", '    allows:', ...allows.map((part) => `      - ${part}`)]),
    ...(dialect === undefined
      ? []
      : [
          '    # How translated requests are written. Only routes with "translate" need it.',
          `    ${dialectYaml(dialect)}`,
        ]),
  ]);
  const { name: first } = providers[0]!;
  return `providers:
${settings.join('\n')}

# Models and their prices in yuan per million tokens. "faregate models import FILE --provider ${first}" writes
# models with prices from LiteLLM's price file, or from the vendor's own list. An entry written by hand:
#
#   models:
#     some-model:
#       operations: [${providers[0]!.protocol}]
#       price: { input: "4", cachedInput: "0.4", output: "16" }
#       routes: [{ provider: ${first}, model: its-name-there }]
models: {}
`;
}
