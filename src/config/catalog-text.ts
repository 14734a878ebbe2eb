import { type Document, isMap } from 'yaml';
import { isRecord } from '../lib/json/json.ts';
import { headerValue, proxyUrl } from './fields.ts';
import { providerCredential } from './provider-credentials.ts';
import { CATALOG_SECTIONS, configSchema } from './schema.ts';
import { membersOf, unwrapped } from './schema-members.ts';
import { type Edit, type EditPath, editYaml, expandAliases, keyOf, parseYaml, plainValue } from './yaml-text.ts';

/** A configuration file, divided into its own sections and the catalog. All functions of this file throw `ConfigError` for invalid YAML. */

export interface SplitConfig {
  /** The sections of the node, with the comments at the head of the file. */
  readonly node: string;
  readonly catalog: string;
}

/** Divides a configuration file. A comment between two sections belongs to the second one, unless it is indented. */
export function splitConfig(text: string): SplitConfig {
  const document = parseYaml(text);
  const root = document.contents;
  if (!isMap(root)) return { node: text, catalog: '' };
  if (root.flow || document.directives?.docStart || document.directives?.docEnd) return splitConfig(asBlocks(document));

  const parts = root.items.map((pair, index) => {
    const [keyStart] = (pair.key as { readonly range: readonly [number] }).range;
    const start = index === 0 ? afterHeader(text, keyStart) : afterIndented(text, keyStart);
    return { start, isCatalog: isSectionName(keyOf(pair)) };
  });
  const isCatalogAt = (offset: number): boolean => parts.findLast(({ start }) => start <= offset)?.isCatalog ?? false;
  const isForeign = (alias: { readonly range?: readonly number[] | null }, target: typeof alias | undefined): boolean =>
    isCatalogAt(alias.range![0]!) !== isCatalogAt(target?.range?.[0] ?? 0);
  const expanded = expandAliases(text, document, (alias) => isForeign(alias, alias.resolve(document)));
  if (expanded !== text) return splitConfig(expanded);

  const cut = (isCatalog: boolean): string =>
    parts
      .map((part, index) => (part.isCatalog === isCatalog ? text.slice(part.start, parts[index + 1]?.start) : ''))
      .map(withLineBreak)
      .join('');
  return { node: text.slice(0, parts[0]?.start ?? 0) + cut(false), catalog: cut(true) };
}

/** Joins the sections of a node with those of the catalog to a configuration file with `catalog: file`. */
export function joinConfig(node: string, catalog: string): string {
  const file = editYaml(splitConfig(node).node, [{ path: ['catalog'], value: 'file' }]);
  return `${withLineBreak(file)}\n${splitConfig(catalog).catalog}`;
}

/** Applies edits to the text of a catalog. A price that is text in the edit stays text. Aliases are replaced with their values. */
export function editCatalog(text: string, edits: readonly Edit[]): string {
  return editYaml(text, edits);
}

/**
 * Returns the paths of credentials, header values and proxy passwords that a text contains itself, which is forbidden in the text of a
 * revision. Variables without a default, `{ file: PATH }` and `{ secret: NAME }` only refer to secrets.
 */
export function secretsIn(text: string): EditPath[] {
  const document = parseYaml(text);
  return findSecrets(configSchema, plainValue(document.contents, document), []);
}

/** Text that replaces a secret in a recorded catalog. It is a valid credential, so that the catalog can still be parsed and compared. */
export const REMOVED_SECRET = '(not-shown)';

/** Returns the catalog sections of a configuration file, with secrets replaced. */
export function catalogOf(text: string): string {
  const { catalog } = splitConfig(text);
  const document = parseYaml(catalog);
  const valueAt = (path: EditPath): unknown => plainValue(document.getIn(path, true), document);
  return editYaml(
    catalog,
    secretsIn(catalog).map((path) => ({ path, value: withoutSecret(path, valueAt(path)) })),
  );
}

function withoutSecret(path: EditPath, value: unknown): string {
  return path.at(-1) === 'proxy' ? String(value).replace(USER_INFO, REMOVED_SECRET) : REMOVED_SECRET;
}

function findSecrets(schema: Parameters<typeof unwrapped>[0], value: unknown, path: EditPath): EditPath[] {
  const field = unwrapped(schema);
  const isLiteral = SECRET_FIELDS.get(field._zod.def);
  // A credential with limits.
  if (field._zod.def === providerCredential._zod.def && isRecord(value) && 'value' in value)
    return findSecrets(schema, value.value, [...path, 'value']);
  if (isLiteral !== undefined) return typeof value === 'string' && isLiteral(value) ? [path] : [];
  return membersOf(schema, value).flatMap(({ key, schema: member, value: each }) =>
    findSecrets(member, each, [...path, key]),
  );
}

const USER_INFO = /(?<=^[a-z]+:\/\/)[^/?#]*(?=@)/i;
const VARIABLE = /\$\{[A-Za-z_][A-Za-z0-9_]*(?::-)?\}/;

/** Fields that may contain secrets. The function tells whether a text is one. */
const SECRET_FIELDS = new Map<unknown, (text: string) => boolean>([
  [providerCredential._zod.def, hasNoVariable],
  [headerValue._zod.def, hasNoVariable],
  [proxyUrl._zod.def, (address) => hasNoVariable(USER_INFO.exec(address)?.[0].split(':').pop() ?? '')],
]);

function hasNoVariable(text: string): boolean {
  return text !== '' && !VARIABLE.test(text);
}

function isSectionName(name: string): boolean {
  return (CATALOG_SECTIONS as readonly string[]).includes(name);
}

/** Converts a text with flow style or document markers, such as JSON, to one with its sections in block style. */
function asBlocks(document: Document): string {
  if (isMap(document.contents)) document.contents.flow = false;
  if (document.directives) Object.assign(document.directives, { docStart: null, docEnd: false });
  return document.toString({ lineWidth: 0 });
}

/** Returns where the comment directly above the first section starts, without the header of the file. */
function afterHeader(text: string, keyStart: number): number {
  return lineStartAbove(text, keyStart, /^#/);
}

/** Returns where the comments above a section start, without indented ones. */
function afterIndented(text: string, keyStart: number): number {
  const start = lineStartAbove(text, keyStart, /^#|^\s*$/);
  return start + /^\s*/.exec(text.slice(start, keyStart))![0].length;
}

/** Returns the start of the first line of those directly above an offset that all match a pattern. */
function lineStartAbove(text: string, offset: number, form: RegExp): number {
  if (offset === 0) return 0;
  const lineStart = text.lastIndexOf('\n', offset - 2) + 1;
  return form.test(text.slice(lineStart, offset - 1)) ? lineStartAbove(text, lineStart, form) : offset;
}

function withLineBreak(text: string): string {
  return text === '' || text.endsWith('\n') ? text : `${text}\n`;
}
