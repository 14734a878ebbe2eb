import { invalidRequest } from '../errors/gateway-error.ts';
import { JsonMemberError, type JsonReader, MemberNames } from '../lib/json/json-reader.ts';
import { decodeString, hasBytes } from '../lib/json/json-string.ts';
import { isPublicServer, isPublicServerAt, schemeAt } from './addresses.ts';
import { type Form, type Members, type Rule, state, type TextRule } from './request-rules.ts';
import { FIELD, kindByName, kindByValue, OPEN } from './shown-references.ts';
import { type StateReference, StateReferences } from './state-references.ts';
import { CLIENT_MARKS, TOOLS, toolFamily, toolRule } from './tools.ts';

/** A part of a tool, or a whole one, that the gateway does not know, so that it cannot say what it refers to. */
export interface UnlistedPart {
  /** What allows it at a provider (`providers.NAME.allows`): `tools.x_search`, `tools.mcp.tunnel`. */
  readonly name: string;
  readonly param: string;
  readonly problem: 'type' | 'member' | 'form';
}

/** What a request names at its provider. */
export interface NamedState {
  readonly references: readonly StateReference[];
  readonly unlisted: readonly UnlistedPart[];
}

/** A request with more different ones is refused. */
const UNLISTED_MAX = 64;
const TYPE_BYTES_MAX = 256;

/** What differs between protocols: the members at the top, and the objects that a protocol reads in its own way. */
export interface RequestTable {
  readonly top: Members;
  readonly readBy: Readonly<Record<string, OwnReading>>;
}

/** An object that stands in itself, or of which several members together decide. */
export interface OwnReading {
  readonly members: Members;
  /** Reads the object that comes next; absent: its members, and nothing else. */
  readonly read?: (reader: RequestReader) => void;
}

/**
 * Reads what a body that is known to be JSON names at a provider, by the tables of its protocol. One pass; a tool whose
 * type does not stand first is gone over twice.
 *
 * @throws GatewayError `invalidRequest` if a member on the way is ambiguous, or a reference has the wrong form.
 */
export function readNamedState(body: JsonReader, table: RequestTable): NamedState {
  const reader = new RequestReader(body, table);
  try {
    reader.members(table.top);
  } catch (error) {
    if (!(error instanceof JsonMemberError)) throw error;
    throw invalidRequest(`The key "${error.member}" appears more than once, or in another spelling.`, error.member);
  }
  return { references: reader.references.list, unlisted: [...reader.unlisted.values()] };
}

/** The tool of a provider that is read: the setting that allows it, and how deep it stands. */
interface Within {
  readonly name: string;
  readonly depth: number;
}

export class RequestReader {
  readonly json: JsonReader;
  readonly references = new StateReferences();
  readonly unlisted = new Map<string, UnlistedPart>();
  readonly #table: RequestTable;
  /** Where the value stands that is read: `-1 - index` of an item, or the offsets at which the key of a member begins and ends. */
  readonly #path: number[] = [];
  /** How much of it is in use: to shorten an array takes longer than to go over a small object. */
  #depth = 0;
  /** The text of the path to each place in it, down to the depth that an earlier reference stood at. */
  readonly #texts: string[] = [];
  #textsDepth = 0;
  /** `null`: content is read. */
  #within: Within | null = null;
  /** How many tools stand around what is read. */
  #toolDepth = 0;

  constructor(body: JsonReader, table: RequestTable) {
    this.json = body;
    this.#table = table;
  }

  /** What is read, as an error states it: `input[3].content`. */
  param(member?: string): string {
    const path = this.#pathText();
    if (member === undefined) return path;
    return path === '' ? member : `${path}.${member}`;
  }

  /**
   * Reads the members of the object that comes next.
   *
   * @param notice Called at the value of each member that has a rule. The value is not read if it moves the reader.
   */
  members(members: Members, notice?: (name: string) => void): void {
    const { json } = this;
    const { bytes } = json;
    // A bit for each name; few objects have more than bits.
    let seen = 0;
    let seenMore: Set<number> | null = null;
    json.eachMember((start, end) => {
      const index = members.find(bytes, start, end);
      if (index === -1) {
        if (json.kind !== 'null') this.#other(members, start, end);
        return;
      }
      const rule = members.inOrder[index]!;
      const isRead = rule !== 'content' && rule !== 'model';
      // Whichever of two copies a provider reads, neither is inspected.
      if (!isRead && notice === undefined) return;
      const name = members.names[index]!;
      let isSecond: boolean;
      if (index < BITS) {
        isSecond = (seen & (1 << index)) !== 0;
        seen |= 1 << index;
      } else {
        seenMore ??= new Set();
        isSecond = seenMore.has(index);
        seenMore.add(index);
      }
      if (isSecond || !isSpelt(name, bytes, start, end)) throw new JsonMemberError(name);
      if (notice !== undefined) {
        const { offset } = json;
        notice(name);
        if (json.offset !== offset) return;
      }
      if (isRead) this.#member(rule, start, end);
    });
  }

  #member(rule: Rule, start: number, end: number): void {
    this.#enter(start, end);
    this.#value(rule);
    this.#depth -= 2;
  }

  #enter(start: number, end: number): void {
    if (this.#textsDepth > this.#depth) this.#textsDepth = this.#depth;
    this.#path[this.#depth++] = start;
    this.#path[this.#depth++] = end;
  }

  /** Calls `read` at each item of the array that comes next. */
  #items(read: () => void): void {
    const depth = this.#depth++;
    this.json.items((index) => {
      if (this.#textsDepth > depth) this.#textsDepth = depth;
      this.#path[depth] = -1 - index;
      read();
    });
    this.#depth--;
  }

  /** Reads the value that comes next by its rule, or leaves it to be skipped. */
  #value(rule: Rule): void {
    const { kind } = this.json;
    if (rule === 'content' || rule === 'model' || kind === 'null') return;
    if (rule === 'setting') this.#setting();
    else if (rule === 'tools') this.#tools();
    else if (rule === 'more') this.#more();
    else if (rule.allowedAs !== undefined) this.#in(this.#at(rule.allowedAs), () => this.#form(rule));
    else this.#form(rule);
  }

  #form(rule: Form): void {
    const { text, items, members, readBy, any } = rule;
    if (any !== undefined) {
      this.references.add({ kind: any, id: '', param: this.param() });
      return;
    }
    switch (this.json.kind) {
      case 'object':
        if (readBy !== undefined) this.#own(this.#table.readBy[readBy]!);
        else if (members !== undefined) this.members(members);
        else this.#unexpected(rule);
        break;
      case 'array':
        if (items !== undefined) this.#items(() => this.#value(items));
        else if (members !== undefined || readBy !== undefined) this.#listed(rule);
        else this.#unexpected(rule);
        break;
      default:
        if (text !== undefined) this.#text(text);
        else this.#unexpected(rule);
    }
  }

  /** A list in the place of what it lists. */
  #listed(rule: Form): void {
    this.#unlistHere('form');
    this.#items(() => this.#value(rule));
  }

  #own({ members, read }: OwnReading): void {
    if (read === undefined) this.members(members);
    else read(this);
  }

  /** What a relay puts at the top. */
  #more(): void {
    if (this.json.kind === 'object') this.members(this.#table.top);
  }

  #setting(): void {
    const { json } = this;
    if (json.kind === 'object') {
      this.#unexpected('setting');
    } else if (json.kind === 'array') {
      this.#items(() => {
        if (json.kind === 'object' || json.kind === 'array') this.#unexpected('setting');
      });
    }
  }

  #text(rule: TextRule): void {
    const { json } = this;
    if (typeof rule === 'object') {
      if (rule.except !== undefined && json.kind === 'string') {
        const text = json.from(json.offset).text(TYPE_BYTES_MAX);
        if (text !== null && rule.except.includes(text)) return;
      }
      this.references.readId(json, rule.state, this.param());
      return;
    }
    if (json.kind !== 'string' || rule === 'setting') return;
    if (rule === 'server') {
      if (!isPublicServer(json.text(ADDRESS_BYTES_MAX))) this.#unlistHere('form');
      return;
    }
    const scheme = schemeAt(json.bytes, json.offset + 1);
    if (scheme === null) {
      if (rule === 'media') this.#bareMedia();
      return;
    }
    if (rule === 'prose' ? scheme !== FILE_SCHEME : WEB.includes(scheme)) {
      const isFetched = rule === 'media' && scheme.startsWith('http');
      if (!isFetched || isPublicServerAt(json.bytes, json.offset)) return;
      this.references.add({ kind: 'network', id: '', param: this.param() });
      return;
    }
    this.references.add({ kind: 'file', id: json.text(ADDRESS_BYTES_MAX) ?? scheme, param: this.param() });
  }

  /** A text in place of an address: base64, the id of a file, or the path of one, which some servers of models open. */
  #bareMedia(): void {
    const { json } = this;
    const found = kindByValue(json.bytes, json.offset);
    if (found !== null) {
      this.references.add({ ...found, param: this.param() });
      return;
    }
    const path = json.from(json.offset).text(ADDRESS_BYTES_MAX);
    if (path?.includes('.')) this.references.add({ kind: 'file', id: path, param: this.param() });
  }

  /** A value of a known member that has a form which its rule does not say. */
  #unexpected(rule: Rule): void {
    if (typeof rule === 'object' && typeof rule.text === 'object') {
      this.references.readId(this.json, rule.text.state, this.param());
      return;
    }
    this.#unlistHere('form');
    this.#open(OPEN);
  }

  /** A member that has no rule, and a value. */
  #other({ others }: Members, start: number, end: number): void {
    const { json } = this;
    const { kind } = json;
    if (typeof others === 'object') {
      this.#member(others.each, start, end);
      return;
    }
    this.#enter(start, end);
    if (others === 'unknown') this.#unlistHere('member');
    const named = others === 'field' || kind === 'object' ? null : kindByName(json.bytes, start, end);
    if (kind === 'true' || kind === 'false') {
      // Says neither.
    } else if (named !== null) {
      this.#form(state(named));
    } else {
      this.#open(others === 'field' ? FIELD : OPEN);
    }
    this.#depth -= 2;
  }

  /** Reads a value of which nothing is known. */
  #open(members: Members): void {
    const { json } = this;
    const { kind } = json;
    if (kind === 'object') {
      this.members(members);
    } else if (kind === 'array') {
      this.#items(() => this.#open(members));
    } else if (kind === 'string') {
      const found = kindByValue(json.bytes, json.offset);
      if (found !== null) this.references.add({ ...found, param: this.param() });
    }
  }

  #tools(): void {
    if (this.json.kind === 'array') this.#items(() => this.#tools());
    else this.#tool();
  }

  #tool(): void {
    const { json } = this;
    if (json.kind === 'string') {
      this.#unlistTool(json.text(TYPE_BYTES_MAX));
      return;
    }
    if (json.kind !== 'object') return;
    const { type, isClient } = this.#typeOf();
    const rule = type !== null ? toolRule(type) : isClient ? TOOLS.custom! : null;
    // A tool in a tool has none in it, so that none is gone over often.
    if (rule === null || this.#toolDepth === TOOL_DEPTH_MAX) {
      // A tool without a type is named by its first member: `{"google_search": {}}`.
      if (type === null) this.#unlistTool(this.#firstKey());
      else this.#unlistTool(type, 'type');
      this.#in(null, () => this.#open(OPEN));
      return;
    }
    this.#toolDepth++;
    this.#in(rule.runs === 'client' ? null : this.#at(`tools.${toolFamily(type!)}`), () => this.members(rule.members));
    this.#toolDepth--;
  }

  #at(name: string): Within {
    return { name, depth: this.#depth };
  }

  #in(within: Within | null, read: () => void): void {
    const around = this.#within;
    this.#within = within;
    read();
    this.#within = around;
  }

  /** The type of the tool that comes next, which need not be its first member; whether it is one of the client's without it. */
  #typeOf(): { readonly type: string | null; readonly isClient: boolean } {
    const { json } = this;
    const first = typeAtStart(json.bytes, json.offset);
    if (first !== -1) {
      if (hasBytes(FUNCTION_TYPE, json.bytes, first, first + FUNCTION_TYPE.length)) return FUNCTION;
      return { type: json.from(first).text(TYPE_BYTES_MAX) ?? UNREADABLE, isClient: false };
    }
    const ahead = json.from(json.offset);
    let type: string | null = null;
    let isClient = false;
    ahead.members(TYPE_OR_MARK, (name) => {
      if (ahead.kind === 'null') return;
      if (name === 'type') type = ahead.text(TYPE_BYTES_MAX) ?? UNREADABLE;
      else isClient = true;
    });
    return { type, isClient };
  }

  #firstKey(): string | null {
    const { json } = this;
    const ahead = json.from(json.offset + 1);
    return ahead.kind === 'string' ? ahead.text(TYPE_BYTES_MAX) : null;
  }

  /** The whole path. Each place is made into text once, however many references stand below it. */
  #pathText(): string {
    const path = this.#path;
    let at = Math.min(this.#textsDepth, this.#depth);
    let text = at === 0 ? '' : this.#texts[at - 1]!;
    while (at < this.#depth) {
      const place = path[at++]!;
      const end = place < 0 ? 0 : path[at++]!;
      if (text.length <= PATH_CHARACTERS_MAX) {
        if (place < 0) text += `[${-1 - place}]`;
        else text += text === '' ? this.#key(place, end) : `.${this.#key(place, end)}`;
        if (text.length > PATH_CHARACTERS_MAX) text = `${text.slice(0, PATH_CHARACTERS_MAX)}${CUT}`;
      }
      this.#texts[at - 1] = text;
    }
    this.#textsDepth = Math.max(this.#textsDepth, this.#depth);
    return text;
  }

  /** The path from a depth on, without the places of items: that in a tool, which is short. */
  #pathIn(depth: number): string {
    const path = this.#path;
    let text = '';
    for (let at = depth; at < this.#depth; at++) {
      const place = path[at]!;
      if (place >= 0) text += `.${this.#key(place, path[++at]!)}`;
    }
    return text;
  }

  #key(start: number, end: number): string {
    if (end - start > KEY_BYTES_MAX) return UNREADABLE;
    return decodeString(this.json.bytes, start, end).slice(0, NAME_CHARACTERS_MAX);
  }

  #unlistTool(type: string | null, member?: string): void {
    if (type !== null) this.#unlist(`tools.${type.slice(0, NAME_CHARACTERS_MAX)}`, 'type', member);
  }

  #unlistHere(problem: UnlistedPart['problem']): void {
    if (this.#within === null) return;
    const { name, depth } = this.#within;
    this.#unlist(`${name}${this.#pathIn(depth)}`, problem);
  }

  #unlist(name: string, problem: UnlistedPart['problem'], member?: string): void {
    if (this.unlisted.has(name)) return;
    const param = this.param(member);
    if (this.unlisted.size === UNLISTED_MAX) {
      const message = `The request has more than ${UNLISTED_MAX} members that the gateway does not know.`;
      throw invalidRequest(message, param);
    }
    this.unlisted.set(name, { name, param, problem });
  }
}

/** The bits of a number that shifts can address. */
const BITS = 31;

const FUNCTION_TYPE = '"function"';
const FUNCTION = { type: 'function', isClient: true } as const;

const TOOL_DEPTH_MAX = 2;
const TYPE_OR_MARK = new MemberNames('type', ...CLIENT_MARKS);
/** In place of a type that is no text, or longer than any. */
const UNREADABLE = '?';
const KEY_BYTES_MAX = 512;
const NAME_CHARACTERS_MAX = 64;
/** The most of a path that is shown; a request may have very many references on a long one. */
const PATH_CHARACTERS_MAX = 512;
const CUT = '…';

/** Whether the bytes between two quotes are the name exactly, with escapes or without. */
function isSpelt(name: string, bytes: Buffer, start: number, end: number): boolean {
  return hasBytes(name, bytes, start, end) || decodeString(bytes, start, end) === name;
}

const TYPE_KEY = '"type"';

/** Where the value of `type` stands, if it is the first member of the object at `offset` and a string; else -1. */
function typeAtStart(bytes: Buffer, offset: number): number {
  let at = skipSpace(bytes, offset + 1);
  if (!hasBytes(TYPE_KEY, bytes, at, at + TYPE_KEY.length)) return -1;
  at = skipSpace(bytes, at + TYPE_KEY.length);
  at = skipSpace(bytes, at + 1);
  return bytes[at] === QUOTE ? at : -1;
}

function skipSpace(bytes: Buffer, start: number): number {
  let at = start;
  while (bytes[at]! <= SPACE) at++;
  return at;
}

const QUOTE = 0x22;
const SPACE = 0x20;

const ADDRESS_BYTES_MAX = 4_096;
/** Addresses of content that stands in the request or on the web. */
const WEB: readonly string[] = ['http', 'https', 'data', 'blob'];
/** By which a text names files at Alibaba Cloud. */
const FILE_SCHEME = 'fileid';
