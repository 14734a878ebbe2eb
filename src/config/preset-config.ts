import { notesOf, type Preset } from './presets.ts';

/** A configuration with the providers of a vendor, and what comes next. */
export function presetConfig(preset: Preset): string {
  const { title, providers, keyVariable, source, readOn } = preset;
  const settings = providers.flatMap(({ name, protocol, baseUrl, vendor, auth, missingUsage, allows }) => [
    `  ${name}:`,
    `    protocol: ${protocol}`,
    `    baseUrl: ${baseUrl}`,
    `    apiKey: \${${keyVariable}}`,
    ...(vendor === undefined ? [] : [`    vendor: ${vendor}`]),
    ...(auth === undefined ? [] : [`    auth: ${auth}`]),
    ...(missingUsage === undefined
      ? []
      : ['    # Where a whole response says no usage, it is estimated.', `    missingUsage: ${missingUsage}`]),
    ...(allows === undefined
      ? []
      : ["    # Tools of this vendor's own.", '    allows:', ...allows.map((part) => `      - ${part}`)]),
  ]);
  const { name: first } = providers[0]!;
  return `# Faregate before ${title}. "faregate init" without --provider writes every other setting there is.
# Addresses as of ${readOn}, from ${source}.
${notesOf(preset)
  .map((note) => `# ${note}\n`)
  .join('')}
database:
  # Nothing: a local PostgreSQL with its files in dataDir. Or postgres://user:password@host/name.
  url: \${DATABASE_URL:-}
  dataDir: ./data

providers:
${settings.join('\n')}

# What may be called, and what it costs: yuan per million tokens. "faregate models import FILE --provider ${first}" writes
# models with prices from LiteLLM's price file, or from the vendor's own list. By hand, one looks so:
#
#   models:
#     some-model:
#       operations: [${providers[0]!.protocol}]
#       price: { input: "4", cachedInput: "0.4", output: "16" }
#       routes: [{ provider: ${first}, model: its-name-there }]
models: {}
`;
}
