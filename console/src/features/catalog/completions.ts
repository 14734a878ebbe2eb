import type { ProviderPreset } from '../../api/types.ts';
import { membersOf, pathKey, positionAt, type YamlPath } from './yaml-position.ts';

/** JSON Schema, draft 2020-12. */
export type JsonSchema = { readonly [member: string]: unknown };

/** What a text may refer to outside of it. */
interface OutsideNames {
  readonly secrets: readonly string[];
  readonly presets: readonly ProviderPreset[];
}

interface CatalogNames extends OutsideNames {
  readonly providers: readonly string[];
  readonly models: readonly string[];
}

export interface Proposal {
  readonly label: string;
  /** The text to insert, if it is not the label. */
  readonly apply?: string;
  /** A few words after the label. */
  readonly detail?: string;
  /** What it does, as a sentence. */
  readonly info?: string;
  readonly isRequired?: boolean;
}

export interface Proposals {
  /** Offset of the word that a proposal replaces. */
  readonly from: number;
  readonly proposals: readonly Proposal[];
}

/** Proposals for the word before an offset: members of the schema, its words, and names to refer to. `null`: none. */
export function proposalsAt(text: string, offset: number, schema: JsonSchema, outside: OutsideNames): Proposals | null {
  const position = positionAt(text, offset);
  if (position === null) return null;
  const { kind, path, from, isFlow } = position;
  const forms = formsAt(schema, path);
  const indent = ' '.repeat(columnOf(text, from));
  const isItem = kind === 'value' && typeof path.at(-1) === 'number';
  const members = membersOf(text);
  const membersAt = (at: YamlPath): string[] => [...(members.get(pathKey(at)) ?? [])];
  const names = { ...outside, providers: membersAt(['providers']), models: membersAt(['models']) };
  const taken = membersAt(path);
  const proposals = [
    ...(kind === 'value' ? valuesOf(forms, schema, path, names, isFlow) : []),
    ...(kind === 'member' || isItem ? memberProposals(forms, schema, path, names, isFlow) : []),
    ...(kind === 'member' && !isFlow && isAt(path, ['providers']) ? presetProposals(names.presets, indent) : []),
  ].filter(({ label }) => kind === 'value' || !taken.includes(label));
  return proposals.length === 0 ? null : { from, proposals };
}

/** In a pattern: any name, or any item of a list. */
const ANY = null;
type Pattern = readonly (string | typeof ANY)[];

/** Values that are names of other parts of the catalog. */
const REFERENCES: readonly (readonly [Pattern, 'providers' | 'models' | 'secrets'])[] = [
  [['models', ANY, 'routes', ANY, 'provider'], 'providers'],
  [['models', ANY, 'innerModels', ANY], 'models'],
  [['models', ANY, 'fallbacks', ANY], 'models'],
  [['plans', ANY, 'models', ANY], 'models'],
  [['groups', ANY, 'models', ANY], 'models'],
  [['groups', ANY, 'fallbacks', ANY], 'models'],
  [['groups', ANY, 'providers', ANY], 'providers'],
  [['providers', ANY, 'apiKey', 'secret'], 'secrets'],
  [['providers', ANY, 'apiKeys', ANY, 'secret'], 'secrets'],
];
/** Mappings whose members are named as models. */
const BY_MODEL: readonly Pattern[] = [
  ['groups', ANY, 'prices'],
  ['limits', 'models'],
];
const CREDENTIALS: readonly Pattern[] = [
  ['providers', ANY, 'apiKey'],
  ['providers', ANY, 'apiKeys', ANY],
];

function isAt(path: YamlPath, pattern: Pattern): boolean {
  return path.length === pattern.length && pattern.every((key, index) => key === ANY || key === path[index]);
}

function valuesOf(
  forms: readonly JsonSchema[],
  root: JsonSchema,
  path: YamlPath,
  names: CatalogNames,
  isFlow: boolean,
): Proposal[] {
  const items = forms.flatMap(({ items: item }) => (isSchema(item) ? formsOf(item, root) : []));
  return [
    ...wordsAt(forms, path, names),
    ...credentialProposals(path, names, isFlow),
    // A list is proposed with one item.
    ...(items.length === 0 ? [] : wordsAt(items, [...path, 0], names)).map(({ label }) => ({ label: `[${label}]` })),
  ];
}

function wordsAt(forms: readonly JsonSchema[], path: YamlPath, names: CatalogNames): Proposal[] {
  const reference = REFERENCES.find(([pattern]) => isAt(path, pattern));
  const words = forms.flatMap(({ type, enum: among, const: only }) => [
    ...(Array.isArray(among) ? among : []),
    ...(only === undefined ? [] : [only]),
    ...(type === 'boolean' ? [true, false] : []),
  ]);
  const referred = reference === undefined ? [] : names[reference[1]];
  return [...new Set([...referred, ...words.map(String)])].map((label) => ({ label }));
}

/** References to credentials. A text with a credential itself is refused. */
function credentialProposals(path: YamlPath, { secrets, presets }: CatalogNames, isFlow: boolean): Proposal[] {
  if (!CREDENTIALS.some((pattern) => isAt(path, pattern))) return [];
  const mark = isFlow ? '"' : '';
  const variables = new Set(presets.map(({ keyVariable }) => keyVariable));
  return [
    ...secrets.map((secret) => ({ label: `{ secret: ${secret} }` })),
    ...[...variables].map((variable) => ({ label: `${mark}\${${variable}}${mark}` })),
  ];
}

function memberProposals(
  forms: readonly JsonSchema[],
  root: JsonSchema,
  path: YamlPath,
  names: CatalogNames,
  isFlow: boolean,
): Proposal[] {
  const colon = (isAlone: boolean): string => (isAlone && !isFlow ? ':' : ': ');
  // The forms of a value can share members: every credential can have limits.
  const members = new Map(
    forms.flatMap(({ properties, required }) =>
      Object.entries(isSchema(properties) ? properties : {}).map(([label, member]) => {
        const below = isSchema(member) ? formsOf(member, root) : [];
        const isRequired = Array.isArray(required) && required.includes(label);
        const proposal = { apply: `${label}${colon(isNested(below))}`, info: textOf(below, 'description'), isRequired };
        return [label, { label, ...proposal }] as const;
      }),
    ),
  );
  const models = BY_MODEL.some((pattern) => isAt(path, pattern)) ? names.models : [];
  return [...members.values(), ...models.map((label) => ({ label, apply: `${label}${colon(true)}` }))];
}

/** Whole providers with the settings of known vendors. */
function presetProposals(presets: readonly ProviderPreset[], indent: string): Proposal[] {
  return presets.flatMap(({ title, keyVariable, providers }) =>
    providers.map(({ name, protocol, baseUrl, vendor, auth, missingUsage, allows, dialect }) => {
      const settings = { protocol, baseUrl, vendor, auth, missingUsage, apiKey: `\${${keyVariable}}` };
      const lines = Object.entries(settings).flatMap(([key, value]) =>
        value === null ? [] : [`${indent}  ${key}: ${value}`],
      );
      if (allows.length > 0) lines.push(`${indent}  allows: ${JSON.stringify(allows)}`);
      if (dialect !== null) lines.push(`${indent}  dialect: ${JSON.stringify(dialect)}`);
      return { label: name, apply: [`${name}:`, ...lines].join('\n'), detail: `${title} · ${protocol}` };
    }),
  );
}

/** The forms that a value at a path may have. */
function formsAt(root: JsonSchema, path: YamlPath): JsonSchema[] {
  return path.reduce<JsonSchema[]>(
    (forms, key) => forms.flatMap((form) => formBelow(form, key)).flatMap((form) => formsOf(form, root)),
    formsOf(root, root),
  );
}

function formBelow({ properties, additionalProperties, items }: JsonSchema, key: string | number): JsonSchema[] {
  if (typeof key === 'number') return isSchema(items) ? [items] : [];
  const member = isSchema(properties) && Object.hasOwn(properties, key) ? properties[key] : additionalProperties;
  return isSchema(member) ? [member] : [];
}

/** Resolves references and alternatives of a schema. The description of the schema applies to each of the results. */
function formsOf(schema: JsonSchema, root: JsonSchema): JsonSchema[] {
  const { $ref, anyOf, oneOf, allOf, description, ...own } = schema;
  const others = [anyOf, oneOf, allOf].flatMap((each) => (Array.isArray(each) ? each.filter(isSchema) : []));
  const referred = typeof $ref === 'string' ? referredBy($ref, root) : null;
  const forms = [...others, ...(referred === null ? [] : [referred])].flatMap((each) => formsOf(each, root));
  const described = description === undefined ? {} : { description };
  if (forms.length === 0) return [{ ...own, ...described }];
  return forms.map((form) => ({ ...form, ...described }));
}

/** The definition that a reference such as `#/$defs/name` names. */
function referredBy($ref: string, root: JsonSchema): JsonSchema | null {
  const found = $ref
    .split('/')
    .slice(1)
    .reduce<unknown>((value, key) => (isSchema(value) ? value[key] : null), root);
  return isSchema(found) ? found : null;
}

function isNested(forms: readonly JsonSchema[]): boolean {
  return forms.length > 0 && forms.every(({ type }) => type === 'object');
}

function textOf(forms: readonly JsonSchema[], member: string): string {
  const text = forms.find((form) => typeof form[member] === 'string')?.[member];
  return typeof text === 'string' ? text : '';
}

function isSchema(value: unknown): value is JsonSchema {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function columnOf(text: string, offset: number): number {
  return offset - (text.lastIndexOf('\n', offset - 1) + 1);
}
