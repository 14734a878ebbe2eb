import { MemberNames } from '../lib/json/json-reader.ts';
import { hasBytes } from '../lib/json/json-string.ts';
import type { StateKind } from './state-references.ts';

/**
 * What the values of a request are, as tables (docs/provider-state.md):
 *
 * - `content`: any JSON that models or the caller read. It is not inspected.
 * - `setting`: a text, a number, a boolean, or an array of these.
 * - `model`: names models; `operations/demand.ts` reads it.
 * - `tools`: an array of tools, or one (`tools.ts`).
 * - `more`: members that a relay merges into the request.
 * - a form: what a text there is, and what the items of an array and the members of an object are.
 *
 * Null is absent everywhere.
 */
export type Rule = 'content' | 'setting' | 'model' | 'tools' | 'more' | Form;

/** A value may only have the forms that are listed. */
export interface Form {
  readonly text?: TextRule;
  readonly items?: Rule;
  readonly members?: Members;
  /** A value of any form names this state. */
  readonly any?: StateKind;
  /** The setting that allows what is unknown in it: `mcp_servers`. Absent: that of the tool around it. */
  readonly allowedAs?: string;
  /** The protocol reads the object itself, by the function of this name. */
  readonly readBy?: string;
}

/**
 * What a text is: a word; what a model reads, where a model of Alibaba Cloud takes `fileid://` for a file; the address of
 * content, or of a server on the internet, neither of which may name what the provider keeps; such an address or the
 * content itself in base64; or the id of what the provider keeps.
 */
export type TextRule = 'setting' | 'prose' | 'link' | 'media' | 'server' | StateText;

/** An id of state, unless it is one of the vendor's own. */
interface StateText {
  readonly state: StateKind;
  readonly except?: readonly string[];
}

/** What members without a rule of their own are. */
export type Others =
  /** Unknown to the gateway, so that it refuses them. */
  | 'unknown'
  /** Content, unless its name or value shows a reference to state. */
  | 'open'
  /** Content, unless its value shows a reference to state: new fields at the top of a request stay open. */
  | 'field'
  /** Names that the caller chooses. */
  | { readonly each: Rule };

/** The members of an object, prepared for the comparison of bytes. */
export class Members {
  readonly rules: Readonly<Record<string, Rule>>;
  readonly others: Others;
  readonly names: readonly string[];
  /** In the order of the names. */
  readonly inOrder: readonly Rule[];
  /** For names that are not spelt in plain ASCII; in groups, since one has a limit. */
  readonly #groups: readonly MemberNames[];
  /** By the hash of the folded name. */
  readonly #byHash = new Map<number, number>();

  constructor(rules: Readonly<Record<string, Rule>>, others: Others) {
    this.rules = rules;
    this.others = others;
    this.names = Object.keys(rules);
    this.inOrder = Object.values(rules);
    const groups: MemberNames[] = [];
    for (let at = 0; at < this.names.length; at += GROUP_NAMES_MAX) {
      groups.push(new MemberNames(...this.names.slice(at, at + GROUP_NAMES_MAX)));
    }
    this.#groups = groups;
    for (const [index, name] of this.names.entries()) {
      const bytes = Buffer.from(name);
      const hash = foldedHash(bytes, 0, bytes.length);
      // Two names with one hash would hide each other; no table has any.
      if (this.#byHash.has(hash)) throw new RangeError(`the member "${name}" has the hash of another`);
      this.#byHash.set(hash, index);
    }
  }

  /** The place of the name that the bytes between two quotes are equal to when folded (`foldedName`); -1 if there is none. */
  find(bytes: Buffer, start: number, end: number): number {
    const hash = foldedHash(bytes, start, end);
    if (hash !== NOT_PLAIN) {
      const index = this.#byHash.get(hash) ?? -1;
      if (index === -1 || hasBytes(this.names[index]!, bytes, start, end)) return index;
    }
    for (const [group, names] of this.#groups.entries()) {
      const found = names.find(bytes, start, end);
      if (found !== -1) return group * GROUP_NAMES_MAX + found;
    }
    return -1;
  }
}

const GROUP_NAMES_MAX = 31;
const NOT_PLAIN = -1;

/** A hash of a name that is the same for all spellings in ASCII that fold to one; `NOT_PLAIN`: it has other characters. */
function foldedHash(bytes: Buffer, start: number, end: number): number {
  let hash = 0;
  for (let at = start; at < end; at++) {
    const byte = bytes[at]!;
    if (byte === BACKSLASH || byte >= 0x80) return NOT_PLAIN;
    if (byte === UNDERSCORE || byte === HYPHEN) continue;
    hash = (Math.imul(hash, 31) + (byte >= LETTER_A && byte <= LETTER_Z ? byte + 0x20 : byte)) & 0x3fffffff;
  }
  return hash;
}

const UNDERSCORE = 0x5f;
const HYPHEN = 0x2d;
const BACKSLASH = 0x5c;
const LETTER_A = 0x41;
const LETTER_Z = 0x5a;

/** An id of state, or several. */
export const state = (kind: StateKind, except?: readonly string[]): Form => {
  const text = { state: kind, ...(except !== undefined && { except }) };
  return { text, items: { text } };
};

/** An object that may have these members and no others. */
export const only = (rules: Readonly<Record<string, Rule>>): Form => ({ members: new Members(rules, 'unknown') });

/** An object whose other members are content, unless they show a reference. */
export const open = (rules: Readonly<Record<string, Rule>>): Form => ({ members: openMembers(rules) });

export const openMembers = (rules: Readonly<Record<string, Rule>>): Members =>
  new Members({ ...CONTENT, ...rules }, 'open');

/**
 * Members that are content wherever they stand: what models and callers write, what a model gave to a tool, descriptions
 * of data, and the ids of what a request brings along itself.
 */
const CONTENT: Readonly<Record<string, Rule>> = {
  ...Object.fromEntries(
    [
      ...['id', 'type', 'role', 'name', 'title', 'text', 'thinking', 'reasoning', 'refusal', 'description', 'filename'],
      ...['arguments', 'input', 'parameters', 'schema', 'input_schema', 'output_schema', 'cache_control', 'data'],
      ...['signature', 'code', 'stdout', 'stderr', 'logs', 'message', 'query', 'context', 'reason', 'revised_prompt'],
      ...['namespace', 'server_label', 'server_name', 'tool_name', 'toolset_name', 'mcp_server_name'],
    ].map((name): [string, Rule] => [name, 'content']),
  ),
  url: { text: 'link' },
};

/** An object whose names the caller chooses. */
export const mapOf = (each: Rule): Form => ({ members: new Members({}, { each }) });

export const listOf = (items: Rule): Form => ({ items });

/** What names state whatever its form is. */
export const anything = (any: StateKind): Form => ({ any });

/** State that is named by its id, or by an object that has it. */
export const stateOrObject = (kind: StateKind, rules: Readonly<Record<string, Rule>> = {}): Form => ({
  ...state(kind),
  members: openMembers({ id: state(kind), ...rules }),
});

export const LINK: Form = { text: 'link' };
export const SERVER: Form = { text: 'server' };
