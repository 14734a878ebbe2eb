import { invalidRequest } from '../errors/gateway-error.ts';
import type { JsonReader } from '../lib/json/json-reader.ts';
import { decodeString, hasBytes } from '../lib/json/json-string.ts';
import { MemberNames } from '../lib/json/member-names.ts';
import { PART_NAMES, type Part, partOf } from './content-names.ts';
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
 * What a text is: a word; what refers to state if it looks like an id of a vendor; what a model reads, where a model of Alibaba Cloud takes `fileid://` for a file; the address of
 * content, or of a server on the internet, neither of which may name what the provider keeps; such an address or the
 * content itself in base64; or the id of what the provider keeps.
 */
export type TextRule = 'setting' | 'shown' | 'prose' | 'link' | 'media' | 'server' | StateText;

/** An id of state, unless it is one of the vendor's own. */
export interface StateText {
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
  /** Content. */
  | 'content'
  /** Names that the caller chooses. */
  | { readonly each: Rule };

/** The members of an object, prepared for the comparison of bytes: a key is looked up once for all that is read of it. */
export class Members {
  readonly rules: Readonly<Record<string, Rule>>;
  readonly others: Others;
  readonly names: readonly string[];
  /** The names that have rules, and behind them those that have a meaning in content. */
  readonly #all: MemberNames;
  readonly #keys: readonly KnownKey[];

  constructor(rules: Readonly<Record<string, Rule>>, others: Others) {
    this.rules = rules;
    this.others = others;
    this.names = Object.keys(rules);
    this.#all = new MemberNames(...new Set([...this.names, ...PART_NAMES.names]));
    this.#keys = this.#all.names.map((name, place) => ({ name, place, rule: rules[name], part: partOf(name) }));
  }

  /** What is known of the name that the bytes between two quotes are equal to when folded (`foldedName`). */
  find(bytes: Buffer, start: number, end: number): KnownKey {
    const place = this.#all.find(bytes, start, end);
    return place === -1 ? UNKNOWN_KEY : this.#keys[place]!;
  }
}

/** A key of an object, as far as a table knows it. */
export interface KnownKey {
  readonly name: string;
  readonly place: number;
  /** `undefined`: the name has none. */
  readonly rule: Rule | undefined;
  /** What it says of content. */
  readonly part: Part;
}

const UNKNOWN_KEY: KnownKey = { name: '', place: -1, rule: undefined, part: null };

/** The members of an object that were seen: most are among those that a number has bits for. */
export class SeenMembers {
  #bits = 0;
  #more: Set<number> | null = null;

  /**
   * Takes in the member whose value comes next.
   *
   * @throws GatewayError `invalidRequest` if it was seen before, or is in another spelling: whichever a provider reads, neither is read.
   */
  add({ name, place }: KnownKey, { bytes, keyStart, keyEnd }: JsonReader): void {
    const isSpelt = hasBytes(name, bytes, keyStart, keyEnd) || decodeString(bytes, keyStart, keyEnd) === name;
    if (isSpelt && !this.#isSecond(place)) return;
    throw invalidRequest(`The key "${name}" appears more than once, or in another spelling.`, name);
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

/** The bits of a number that shifts can address. */
const BITS = 31;

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

/** The values of a `setting`. */
export const SETTING: Form = { text: 'setting', items: { text: 'setting' } };

export const LINK: Form = { text: 'link' };
export const SERVER: Form = { text: 'server' };
