import type { Dice } from '../../src/lib/dice.ts';
import { MemberNames } from '../../src/lib/json/member-names.ts';
import type { RequestTable } from '../../src/protocols/request-reader.ts';
import type { Form, Members, Rule, TextRule } from '../../src/protocols/request-rules.ts';
import { CONTENT_OF_TYPE } from '../../src/protocols/responses/state-references.ts';
import { TOOLS } from '../../src/protocols/tools.ts';

/**
 * Members of request bodies, generated from the gateway's own tables (`src/protocols/request-rules.ts`), so that new rows are covered:
 * tools and items of all types, references, models, values in other formats, misspelt names, unknown members. Generates text, because an
 * object cannot contain duplicate members.
 */
export interface TableValues {
  readonly dice: Dice;
  readonly table: RequestTable;
  /** Probability that a name, a type or a value differs from the table. */
  readonly oddness: number;
  /** An id for a reference. */
  readonly id: () => string;
  /** The name of a model. */
  readonly model: () => string;
}

const DEPTH_MAX = 6;

/** Some members at the top level of a request, as `"name":value`. */
export function tableMembers(values: TableValues): string[] {
  return membersOf(values.table.top, values, 0);
}

function membersOf({ names, rules, others }: Members, values: TableValues, depth: number): string[] {
  const { dice, oddness } = values;
  const made: string[] = [];
  const count = names.length === 0 ? 0 : 1 + dice.upTo(depth === 0 ? 3 : 2);
  for (let i = 0; i < count; i++) {
    const name = dice.one(names);
    made.push(`${keyOf(name, values)}:${valueBy(rules[name]!, values, depth + 1)}`);
  }
  if (typeof others === 'object') {
    made.push(`${JSON.stringify(dice.one(WORDS))}:${valueBy(others.each, values, depth + 1)}`);
  }
  if (dice.happens(oddness)) {
    made.push(`${keyOf(dice.one([...UNKNOWN, ...knownNames()]), values)}:${anything(values, depth + 1)}`);
  }
  return made;
}

/** Unknown members; the names of some suggest their meaning. */
const UNKNOWN = ['unknown', 'sandbox_id', 'targetIds', '__proto__', 'toString', 'x', ''];
const WORDS = ['auto', 'low', 'a', 'other', '1'];

/** The names that parsers of bodies look for. */
function knownNames(): readonly string[] {
  names ??= [...new Set(MemberNames.all.flatMap((list) => list.names.map((name) => name.replace(/^\*/, ''))))];
  return names;
}
let names: readonly string[] | null = null;

/** Other spellings of a name: case, characters that fold to its letters, escapes, surrounding characters. */
export const RESPELLINGS: readonly ((name: string, at: number) => string)[] = [
  (name) => name.toUpperCase(),
  (name, at) => name.slice(0, at) + name.slice(at, at + 1).toUpperCase() + name.slice(at + 1),
  (name) => name.replace('s', '\u017f'),
  (name) => name.replace('k', '\u212a'),
  (name) => name.replace('i', '\u0131'),
  (name) => name.replace('i', '\u0130'),
  (name) => name.replace('_', ''),
  (name) => name.replaceAll('_', '-'),
  (name, at) => `${name.slice(0, at)}\\u${name.charCodeAt(at).toString(16).padStart(4, '0')}${name.slice(at + 1)}`,
  (name) => `\\u017f${name.slice(1)}`,
  (name) => `${name}\\u0000`,
  (name) => ` ${name}`,
  (name) => `${name}\\ud800`,
  (name) => `\\ufeff${name}`,
];

function keyOf(name: string, { dice, oddness }: TableValues): string {
  if (name === '' || !dice.happens(oddness / 2)) return JSON.stringify(name);
  return `"${dice.one(RESPELLINGS)(name, dice.upTo(name.length - 1))}"`;
}

function valueBy(rule: Rule, values: TableValues, depth: number): string {
  const { dice, oddness } = values;
  if (dice.happens(oddness)) return anything(values, depth);
  switch (rule) {
    case 'content':
      return content(values, depth);
    case 'setting':
      return dice.one(['"auto"', '1', 'true', 'null', '["a","b"]', '0.5', '"-1"']);
    case 'model':
      return JSON.stringify(values.model());
    case 'tools':
      return toolsOf(values, depth);
    case 'more':
      return depth > DEPTH_MAX ? '{}' : objectOf(membersOf(values.table.top, values, depth));
    default:
      return formOf(rule, values, depth);
  }
}

/** JSON that is not inspected. Parts of it have names and values of inspected parts. */
function content(values: TableValues, depth: number): string {
  const { dice } = values;
  const isPlain = depth > DEPTH_MAX || dice.happens(0.7);
  if (isPlain)
    return dice.one(['"Hello"', '"user_1"', '1', 'true', 'null', '[]', '{}', '[{"role":"user","content":"Hi"}]']);
  return anything(values, depth);
}

function anything(values: TableValues, depth: number): string {
  const { dice, id, model } = values;
  if (depth > DEPTH_MAX) return '0';
  switch (dice.upTo(9)) {
    case 0:
      return 'null';
    case 1:
      return dice.one(['true', 'false', '0', '-1', '1e400', '""']);
    case 2:
      return JSON.stringify(id());
    case 3:
      return JSON.stringify(model());
    case 4:
      return toolsOf(values, depth + 1);
    case 5:
      return `[${anything(values, depth + 1)},${anything(values, depth + 1)}]`;
    case 6:
      return textOf(dice.one(['prose', 'link', 'media', 'server']), values);
    case 7:
      return objectOf(membersOf(values.table.top, values, depth + 1));
    default:
      return objectOf([`${keyOf(dice.one(knownNames()), values)}:${anything(values, depth + 1)}`]);
  }
}

function toolsOf(values: TableValues, depth: number): string {
  const { dice } = values;
  if (depth > DEPTH_MAX) return '[]';
  const tools = Array.from({ length: 1 + dice.upTo(1) }, () => toolOf(values, depth + 1));
  return dice.happens(0.05) ? tools[0]! : dice.happens(0.05) ? `[[${tools}]]` : `[${tools}]`;
}

const UNKNOWN_TOOLS = ['x_search', 'builtin_function', 'openrouter:web_search', 'retrieval', '?', '', 'web_search_x'];
const SUFFIXES = ['_20250305', '_2025_08_26', '_preview', '_preview_2025_03_11'];

function toolOf(values: TableValues, depth: number): string {
  const { dice, oddness } = values;
  const family = dice.one(Object.keys(TOOLS));
  const type = dice.happens(oddness / 2)
    ? dice.one(UNKNOWN_TOOLS)
    : dice.happens(0.2)
      ? family + dice.one(SUFFIXES)
      : family;
  const members = membersOf(TOOLS[family]!.members, values, depth).filter((member) => !member.startsWith('"type"'));
  if (dice.happens(oddness / 4)) return dice.one([JSON.stringify(type), objectOf(members), `{"${type}":{}}`]);
  members.splice(dice.happens(0.8) ? 0 : members.length, 0, `${keyOf('type', values)}:${JSON.stringify(type)}`);
  return objectOf(members);
}

function formOf({ text, items, members, readBy, any }: Form, values: TableValues, depth: number): string {
  const { dice, id, table } = values;
  if (any !== undefined) return dice.one([JSON.stringify(id()), '{"url":"http://127.0.0.1/"}', '8998', 'null']);
  const forms: (() => string)[] = [];
  if (text !== undefined) forms.push(() => textOf(text, values));
  if (depth <= DEPTH_MAX) {
    if (items !== undefined) {
      forms.push(() => `[${Array.from({ length: dice.upTo(2) }, () => valueBy(items, values, depth + 1))}]`);
    }
    if (members !== undefined) forms.push(() => objectOf(membersOf(members, values, depth)));
    if (readBy !== undefined) {
      forms.push(() => {
        const own = membersOf(table.readBy[readBy]!.members, values, depth);
        const type = OWN_TYPES[readBy];
        return objectOf(type === undefined ? own : [`"type":${JSON.stringify(dice.one(type))}`, ...own]);
      });
    }
  }
  return forms.length === 0 ? 'null' : dice.one(forms)();
}

/** Object types that protocols read in special ways. */
const OWN_TYPES: Readonly<Record<string, readonly string[]>> = {
  item: [...CONTENT_OF_TYPE.keys(), 'unknown_item'],
  block: [
    'text',
    'image',
    'document',
    'tool_use',
    'tool_result',
    'tool_reference',
    'container_upload',
    'unknown_block',
  ],
  skill: ['anthropic', 'custom'],
};

function textOf(rule: TextRule, { dice, id }: TableValues): string {
  if (typeof rule === 'object') return JSON.stringify(dice.one([...(rule.except ?? []), id(), id()]));
  if (rule === 'setting') return JSON.stringify(dice.one(WORDS));
  return JSON.stringify(dice.happens(0.6) ? dice.one(HONEST_ADDRESSES) : dice.one(ADDRESSES));
}

const HONEST_ADDRESSES = [
  'https://example.com/a.png',
  'data:image/png;base64,aGVsbG8=',
  'aGVsbG8=',
  'https://mcp.example.com/',
];
const ADDRESSES = [
  ...['http://127.0.0.1/a.png', 'http://169.254.169.254/latest/meta-data', 'https://[::1]/', 'http://0x7f000001/a'],
  ...['oss://bucket/key', 'fileid://file-1', ' FILE:///etc/passwd', 'ms://file-abc1', '/etc/passwd.png', 'file-abc123'],
  ...['localhost', 'gopher://x', 'data:', 'HTTPS://EXAMPLE.COM', '//example.com/x.png', 'gs://b/k'],
];

function objectOf(members: readonly string[]): string {
  return `{${members.join(',')}}`;
}
