import { invalidRequest } from '../errors/gateway-error.ts';
import type { JsonReader } from '../lib/json/json-reader.ts';
import { decodeString, hasBytes } from '../lib/json/json-string.ts';
import { MemberNames } from '../lib/json/member-names.ts';
import { PART_NAMES, type Part, partOf } from './content-names.ts';
import type { StateKind } from './state-references.ts';

/**
 * What a value in a request means (docs/provider-state.md). Null counts as absent.
 * - `content`: any JSON for the model or the client; it is not inspected
 * - `setting`: a string, a number, a boolean, or an array of these
 * - `model`: names of models
 * - `tools`: a tool or an array of tools (`tools.ts`)
 * - `more`: members that a relay merges into the request
 * - a form: rules for strings, array items and object members
 */
export type Rule = 'content' | 'setting' | 'model' | 'tools' | 'more' | Form;

export interface Form {
  readonly text?: TextRule;
  readonly items?: Rule;
  readonly members?: Members;
  /** Kind of state to which the value refers, whatever its type is. */
  readonly any?: StateKind;
  /** The setting that allows unknown members of the object, such as `mcp_servers`. Absent: that of the tool around it. */
  readonly allowedAs?: string;
  /** Key of the reading function in the protocol's `RequestTable`. */
  readonly readBy?: string;
}

/**
 * What a string means:
 * - `setting`: a plain word
 * - `shown`: a reference if it looks like a vendor's id
 * - `prose`: text for the model, in which Alibaba Cloud reads `fileid://` as a file
 * - `link`: an address of content, not of state that the provider keeps
 * - `media`: such an address, or base64
 * - `server`: an address on the internet
 * - `StateText`: the id of state that the provider keeps
 */
export type TextRule = 'setting' | 'shown' | 'prose' | 'link' | 'media' | 'server' | StateText;

/** The id of state that the provider keeps, unless it is one of the vendor's predefined ids (`except`). */
export interface StateText {
  readonly state: StateKind;
  readonly except?: readonly string[];
}

export type Others =
  | 'unknown'
  /** Content, unless the name or the value looks like a reference to state. */
  | 'open'
  /** Content, unless the value looks like a reference. For the top level, where vendors add fields. */
  | 'field'
  | 'content'
  | { readonly each: Rule };

/** Rules for the members of an object. Keys are compared as bytes, and each one is looked up once. */
export class Members {
  readonly rules: Readonly<Record<string, Rule>>;
  readonly others: Others;
  readonly names: readonly string[];
  /** Names with rules, followed by names that only `ContentDemand` reads. */
  readonly #all: MemberNames;
  readonly #keys: readonly KnownKey[];

  constructor(rules: Readonly<Record<string, Rule>>, others: Others) {
    this.rules = rules;
    this.others = others;
    this.names = Object.keys(rules);
    this.#all = new MemberNames(...new Set([...this.names, ...PART_NAMES.names]));
    this.#keys = this.#all.names.map((name, place) => ({ name, place, rule: rules[name], part: partOf(name) }));
  }

  /** Finds the rule of the key `bytes[start, end)`, without quotes. Names are compared in folded form (`foldedName`). */
  find(bytes: Buffer, start: number, end: number): KnownKey {
    const place = this.#all.find(bytes, start, end);
    return place === -1 ? UNKNOWN_KEY : this.#keys[place]!;
  }
}

export interface KnownKey {
  readonly name: string;
  readonly place: number;
  readonly rule: Rule | undefined;
  readonly part: Part;
}

const UNKNOWN_KEY: KnownKey = { name: '', place: -1, rule: undefined, part: null };

/** The members of an object that were read so far. The first 31 names of a table are bits of a number. */
export class SeenMembers {
  #bits = 0;
  #more: Set<number> | null = null;

  /** Adds a member. @throws GatewayError `invalidRequest` if it is repeated or misspelled: providers differ in how they read it */
  add({ name, place }: KnownKey, { bytes, keyStart, keyEnd }: JsonReader): void {
    const isSpelt = hasBytes(name, bytes, keyStart, keyEnd) || decodeString(bytes, keyStart, keyEnd) === name;
    if (isSpelt && !this.#isSecond(place)) return;
    throw invalidRequest(`The key "${name}" must appear at most once and be spelled exactly this way.`, name);
  }

  #isSecond(place: number): boolean {
    if (place < BITS) {
      const before = this.#bits;
      this.#bits |= 1 << place;
      return this.#bits === before;
    }
    this.#more ??= new Set();
    const { size } = this.#more;
    return this.#more.add(place).size === size;
  }
}

const BITS = 31;

/** A rule for one id or an array of ids. */
export const state = (kind: StateKind, except?: readonly string[]): Form => {
  const text = { state: kind, ...(except !== undefined && { except }) };
  return { text, items: { text } };
};

export const only = (rules: Readonly<Record<string, Rule>>): Form => ({ members: new Members(rules, 'unknown') });

export const open = (rules: Readonly<Record<string, Rule>>): Form => ({ members: openMembers(rules) });

export const openMembers = (rules: Readonly<Record<string, Rule>>): Members =>
  new Members({ ...CONTENT, ...rules }, 'open');

/** Members that are content in every object: texts, tool arguments, schemas, and ids that only the request itself uses. */
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

export const mapOf = (each: Rule): Form => ({ members: new Members({}, { each }) });

export const listOf = (items: Rule): Form => ({ items });

export const anything = (any: StateKind): Form => ({ any });

/** Creates a rule for state that is given by its id, or by an object with the id. */
export const stateOrObject = (kind: StateKind, rules: Readonly<Record<string, Rule>> = {}): Form => ({
  ...state(kind),
  members: openMembers({ id: state(kind), ...rules }),
});

export const SETTING: Form = { text: 'setting', items: { text: 'setting' } };

export const LINK: Form = { text: 'link' };
export const SERVER: Form = { text: 'server' };
