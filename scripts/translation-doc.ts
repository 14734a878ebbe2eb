import { z } from 'zod';
import { dialect } from '../src/config/dialect-schema.ts';
import { dialectYaml } from '../src/config/dialect-yaml.ts';
import { unwrapped } from '../src/config/schema-members.ts';
import { DIALECTS_READ_ON, type VendorDialect, vendorDialects } from '../src/config/vendor-dialects.ts';
import { optionalMembers, type RefusedMember, refusedMembers } from '../src/protocols/translation/client-members.ts';
import { clientFormNames, translatedTo } from '../src/protocols/translation/pairs.ts';
import { writeLastPart } from './generated-doc.ts';
import { markdownTable } from './markdown.ts';

/** Writes the tables of `docs/translation.md`, and that of vendors in `docs/providers.md`. */

const SAME = 'the same';

/** What happens to content, settings and tools: in the request, to a chat provider, to a messages provider. */
const RULES: readonly (readonly [string, string, string])[] = [
  ['system and developer messages before the first turn', 'one system message', '`system`'],
  ['later ones', 'a user message (`laterSystem`)', SAME],
  ['the attribution line of Claude Code', 'left out, because it changes from call to call', ''],
  ['images in base64 or by URL', SAME, SAME],
  ['`detail` of images', '`auto`, `low`, `high`; others left out', 'left out'],
  ['PDF in base64', '`file`', '`document`'],
  ['text documents', 'text', ''],
  ['files by URL or id, audio, video, citations', '400', '400'],
  ['images in tool results', 'a user message after all results (`toolMedia`)', 'in the result'],
  ['failed tool results (`is_error`)', 'the text begins with `Error: `', SAME],
  ['custom tools', 'a function with one string `input`, and back', SAME],
  ['namespaces, client-side `tool_search`, `local_shell`', 'functions, and back', SAME],
  [
    'tools that the provider runs, such as `web_search`',
    'left out while others remain; 400 if forced or alone; in history: text',
    SAME,
  ],
  ['other tools that the client runs, such as `bash_20250124`', '400', '400'],
  ['adjacent turns of the user', 'stay apart', 'become one turn'],
  ['texts with only white space', 'left out', SAME],
  ['a conversation that begins with the assistant', 'as it is', 'a user turn is added'],
  ['a tool call without a result', 'gets a result that says so', SAME],
  ['duplicate ids of tool calls', 'get a number', SAME],
  ['schemas of tools without `type` or `properties`', 'get them', SAME],
  ['a tool result without its call', '400', '400'],
  ['arguments that are not a JSON object', 'text', 'wrapped in an object'],
  ['a prefill: an assistant message as the last turn', '400', 'passes; 400 if it ends in white space'],
  ['output limit above that of the model', 'lowered', "lowered; if absent, the model's"],
  ['`temperature`, `top_p`', SAME, 'the same; temperature at most 1; not with thinking'],
  ['stop sequences', SAME, 'the same; 400 if one has only white space'],
  ['reasoning, with a forced tool or a prefill', SAME, 'runs without thinking'],
  [
    'structured output with a JSON schema',
    '`response_format` if `takes` has `json_schema`, else 400',
    '`output_config.format`',
  ],
  ['JSON mode, without a schema', '`response_format`', '400'],
  ['`strict` of tools', 'left out unless `takes` has `strict`', SAME],
  [
    '`cache_control` of messages and tools',
    'left out unless `takes` has `cache_control`',
    'the same; `promptCache: auto` adds one unless there are four',
  ],
  ['unknown fields', 'left out', 'left out'],
];

const pairs = clientFormNames.map((client) => [client, translatedTo[client].join(', ')]);

const optional = clientFormNames.flatMap((client) =>
  optionalMembers[client].map(({ path, name }) => [client, `\`${path}\``, `\`${name}\``]),
);

const refused = clientFormNames.flatMap((client) =>
  refusedMembers[client].map(({ name, values, reason }) => [
    client,
    `\`${name}\``,
    valuesText(values),
    reason.replace(/^./, (first) => first.toUpperCase()),
  ]),
);

function valuesText(values: RefusedMember['values']): string {
  const quoted = (all: readonly string[]): string => all.map((value) => `\`${value}\``).join(', ');
  if (values === 'any') return 'any';
  if (values === 'true') return '`true`';
  if (values === 'filled') return 'any entry';
  if ('above' in values) return `above ${values.above}`;
  return `other than ${quoted('otherThan' in values ? values.otherThan : values.itemsOtherThan)}`;
}

const keys = Object.entries(dialect.shape).map(([name, field]) => [
  `\`${name}\``,
  valuesOf(unwrapped(field)),
  (z.globalRegistry.get(field)?.description ?? '').replaceAll('|', '\\|'),
]);

function valuesOf(schema: z.core.$ZodType): string {
  if (schema instanceof z.ZodEnum) return schema.options.map((option) => `\`${option}\``).join(', ');
  if (schema instanceof z.ZodArray) {
    const { element } = schema;
    return element instanceof z.ZodEnum ? `a list of ${valuesOf(element)}` : 'a list of names';
  }
  throw new Error('a key of the dialect has another type');
}

writeLastPart(
  'docs/translation.md',
  `
## Pairs

${markdownTable(['client', 'provider'], pairs)}

Compaction, completions, embeddings, rerank and images are never translated.

## Keys of a dialect

${markdownTable(['key', 'values', 'what it does'], keys)}

## Content and settings

${markdownTable(['in the request', 'to a chat provider', 'to a messages provider'], RULES)}

## Optional fields

They are left out unless \`takes\` has their name.

${markdownTable(['client', 'field', 'name in `takes`'], optional)}

## Refused fields

Requests with these fields are refused with 400, because the response would be different without the field.

${markdownTable(['client', 'field', 'values', 'reason'], refused)}
`,
);

function vendorRow({ title, dialects, native, notes = [], sources }: VendorDialect): string[] {
  const documented = Object.entries(dialects).map(([protocol, keys]) => `${protocol} \`${dialectYaml(keys)}\``);
  return [
    title,
    documented.join('<br>') || 'not documented',
    native.join('<br>') || 'not documented',
    notes.join(' '),
    sources.join('<br>'),
  ];
}

writeLastPart(
  'docs/providers.md',
  `${markdownTable(['vendor', 'dialect', 'native addresses', 'notes', 'read from'], vendorDialects.map(vendorRow))}

Read on ${DIALECTS_READ_ON}.
`,
);
