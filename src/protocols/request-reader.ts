import { isIP } from 'node:net';
import { invalidRequest } from '../errors/gateway-error.ts';
import { isPublicAddress } from '../lib/ip-address.ts';
import { JsonMemberError, JsonReader, MemberNames } from '../lib/json/json-reader.ts';
import { decodeString, hasBytes } from '../lib/json/json-string.ts';
import { withoutTrailing } from '../lib/trailing.ts';
import { type Form, type Members, type Rule, state, type TextRule } from './request-rules.ts';
import { FIELD, kindByName, kindByValue, OPEN } from './shown-references.ts';
import { type StateReference, StateReferences } from './state-references.ts';
import { CLIENT_MARKS, TOOLS, toolFamily } from './tools.ts';

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
  readonly readBy: Readonly<Record<string, (reader: RequestReader, path: string) => void>>;
}

/**
 * Reads what a body that is known to be JSON names at a provider, by the tables of its protocol. One pass; a tool whose
 * type does not stand first is gone over twice.
 *
 * @throws GatewayError `invalidRequest` if a member on the way is ambiguous, or a reference has the wrong form.
 */
export function readNamedState(body: Buffer, table: RequestTable): NamedState {
  const reader = new RequestReader(body, table);
  try {
    reader.members(table.top, '');
  } catch (error) {
    if (!(error instanceof JsonMemberError)) throw error;
    throw invalidRequest(`The key "${error.member}" appears more than once, or in another spelling.`, error.member);
  }
  return { references: reader.references.list, unlisted: [...reader.unlisted.values()] };
}

/** The tool of a provider that is read: the setting that allows it, and where it stands. */
interface Within {
  readonly name: string;
  readonly path: string;
}

export class RequestReader {
  readonly json: JsonReader;
  readonly references = new StateReferences();
  readonly unlisted = new Map<string, UnlistedPart>();
  readonly #table: RequestTable;
  /** `null`: content is read. */
  #within: Within | null = null;
  #isInTool = false;

  constructor(body: Buffer, table: RequestTable) {
    this.json = new JsonReader(body);
    this.#table = table;
  }

  /**
   * Reads the members of the object that comes next.
   *
   * @param notice Called at the value of each member that has a rule. The value is not read if it moves the reader.
   */
  members(members: Members, path: string, notice?: (name: string) => void): void {
    const { json } = this;
    const { bytes } = json;
    const { groups, rules } = members;
    // A bit for each name; most objects have one group of names.
    let seen = 0;
    let seenMore: Set<string> | null = null;
    json.eachMember((start, end) => {
      for (let group = 0; group < groups.length; group++) {
        const index = groups[group]!.find(bytes, start, end);
        if (index === -1) continue;
        const name = groups[group]!.names[index]!;
        const rule = rules[name]!;
        const isRead = rule !== 'content' && rule !== 'model';
        // Whichever of two copies a provider reads, neither is inspected.
        if (!isRead && notice === undefined) return;
        const isSecond = group === 0 ? (seen & (1 << index)) !== 0 : seenMore?.has(name) === true;
        if (isSecond || !isSpelt(name, bytes, start, end)) throw new JsonMemberError(name);
        if (group === 0) {
          seen |= 1 << index;
        } else {
          seenMore ??= new Set();
          seenMore.add(name);
        }
        if (notice !== undefined) {
          const { offset } = json;
          notice(name);
          if (json.offset !== offset) return;
        }
        if (isRead) this.value(rule, pathTo(path, name));
        return;
      }
      this.#other(members, path, start, end);
    });
  }

  /** Reads the value that comes next by its rule, or leaves it to be skipped. */
  value(rule: Rule, path: string): void {
    const { json } = this;
    const { kind } = json;
    if (rule === 'content' || rule === 'model' || kind === 'null') return;
    if (rule === 'setting') this.#setting(path);
    else if (rule === 'tools') this.#tools(path);
    else if (rule === 'more') this.#more(path);
    else if (rule.allowedAs !== undefined) this.#in({ name: rule.allowedAs, path }, () => this.#form(rule, path));
    else this.#form(rule, path);
  }

  #form(rule: Form, path: string): void {
    const { json } = this;
    const { text, items, members, readBy, any } = rule;
    if (any !== undefined) {
      this.references.add({ kind: any, id: '', param: path });
      return;
    }
    switch (json.kind) {
      case 'object':
        if (readBy !== undefined) this.#table.readBy[readBy]!(this, path);
        else if (members !== undefined) this.members(members, path);
        else this.#unexpected(rule, path);
        break;
      case 'array':
        if (items !== undefined) json.items((index) => this.value(items, `${path}[${index}]`));
        else this.#unexpected(rule, path);
        break;
      default:
        if (text !== undefined) this.#text(text, path);
        else this.#unexpected(rule, path);
    }
  }

  /** What a relay puts at the top. */
  #more(path: string): void {
    if (this.json.kind === 'object') this.members(this.#table.top, path);
  }

  #setting(path: string): void {
    const { json } = this;
    if (json.kind === 'object') {
      this.#unexpected('setting', path);
    } else if (json.kind === 'array') {
      json.items((index) => {
        if (json.kind === 'object' || json.kind === 'array') this.#unexpected('setting', `${path}[${index}]`);
      });
    }
  }

  #text(rule: TextRule, path: string): void {
    const { json } = this;
    if (typeof rule === 'object') {
      if (rule.except !== undefined && json.kind === 'string') {
        const text = json.from(json.offset).text(TYPE_BYTES_MAX);
        if (text !== null && rule.except.includes(text)) return;
      }
      this.references.readId(json, rule.state, path);
      return;
    }
    if (json.kind !== 'string' || rule === 'setting') return;
    if (rule === 'server') {
      if (!isPublicServer(json.text(ADDRESS_BYTES_MAX))) this.#unlistHere('form', path);
      return;
    }
    const scheme = schemeAt(json.bytes, json.offset + 1);
    if (scheme === null || (rule === 'link' ? WEB.includes(scheme) : scheme !== FILE_SCHEME)) return;
    this.references.add({ kind: 'file', id: json.text(ADDRESS_BYTES_MAX) ?? scheme, param: path });
  }

  /** A value of a known member that has a form which its rule does not say. */
  #unexpected(rule: Rule, path: string): void {
    if (typeof rule === 'object' && typeof rule.text === 'object') {
      this.references.readId(this.json, rule.text.state, path);
      return;
    }
    this.#unlistHere('form', path);
    this.#open(path);
  }

  #other({ others }: Members, path: string, start: number, end: number): void {
    const { json } = this;
    if (typeof others === 'object') {
      this.value(others.each, pathTo(path, this.#key(start, end)));
      return;
    }
    if (others === 'unknown') this.#unlistHere('member', pathTo(path, this.#key(start, end)));
    switch (json.kind) {
      case 'null':
      case 'true':
      case 'false':
        return;
    }
    if (others !== 'field') {
      const kind = kindByName(json.bytes, start, end);
      if (kind !== null && json.kind !== 'object') {
        this.#form(state(kind), pathTo(path, this.#key(start, end)));
        return;
      }
    }
    if (json.kind === 'string') {
      const found = kindByValue(json.bytes, json.offset);
      if (found !== null) this.references.add({ ...found, param: pathTo(path, this.#key(start, end)) });
    } else if (json.kind !== 'number') {
      this.#open(pathTo(path, this.#key(start, end)), others === 'field' ? FIELD : OPEN);
    }
  }

  /** Reads a value of which nothing is known. */
  #open(path: string, members: Members = OPEN): void {
    const { json } = this;
    if (json.kind === 'object') {
      this.members(members, path);
    } else if (json.kind === 'array') {
      json.items((index) => this.#open(`${path}[${index}]`, members));
    } else if (json.kind === 'string') {
      const found = kindByValue(json.bytes, json.offset);
      if (found !== null) this.references.add({ ...found, param: path });
    }
  }

  #tools(path: string): void {
    const { json } = this;
    if (json.kind === 'array') json.items((index) => this.#tool(`${path}[${index}]`));
    else this.#tool(path);
  }

  #tool(path: string): void {
    const { json } = this;
    if (json.kind === 'string') {
      this.#unlistTool(json.text(TYPE_BYTES_MAX), path);
      return;
    }
    if (json.kind !== 'object') return;
    const { type, isClient } = this.#typeOf();
    if (type === null && isClient) {
      this.#inTool(null, TOOLS.custom!.members, path);
      return;
    }
    const family = type === null ? null : toolFamily(type);
    const rule = family !== null && Object.hasOwn(TOOLS, family) ? TOOLS[family]! : null;
    // A tool that stands in another one has none in it.
    if (rule === null || (this.#isInTool && rule.members.rules.tools !== undefined)) {
      // A tool without a type is named by its first member: `{"google_search": {}}`.
      this.#unlistTool(type ?? this.#firstKey(), type === null ? path : `${path}.type`);
      this.#in(null, () => this.#open(path));
      return;
    }
    this.#inTool(rule.runs === 'client' ? null : { name: `tools.${family}`, path }, rule.members, path);
  }

  #inTool(within: Within | null, members: Members, path: string): void {
    const isInTool = this.#isInTool;
    this.#isInTool = true;
    this.#in(within, () => this.members(members, path));
    this.#isInTool = isInTool;
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
    if (first !== -1) return { type: json.from(first).text(TYPE_BYTES_MAX) ?? UNREADABLE, isClient: false };
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

  #key(start: number, end: number): string {
    if (end - start > KEY_BYTES_MAX) return UNREADABLE;
    return decodeString(this.json.bytes, start, end).slice(0, NAME_CHARACTERS_MAX);
  }

  #unlistTool(type: string | null, param: string): void {
    if (type !== null) this.#unlist({ name: `tools.${type.slice(0, NAME_CHARACTERS_MAX)}`, param, problem: 'type' });
  }

  #unlistHere(problem: UnlistedPart['problem'], param: string): void {
    if (this.#within === null) return;
    const { name, path } = this.#within;
    this.#unlist({ name: `${name}${param.slice(path.length).replace(/\[\d+\]/g, '')}`, param, problem });
  }

  #unlist(part: UnlistedPart): void {
    if (this.unlisted.has(part.name)) return;
    if (this.unlisted.size === UNLISTED_MAX) {
      throw invalidRequest(
        `The request has more than ${UNLISTED_MAX} members that the gateway does not know.`,
        part.param,
      );
    }
    this.unlisted.set(part.name, part);
  }
}

const TYPE_OR_MARK = new MemberNames('type', ...CLIENT_MARKS);
/** In place of a type that is no text, or longer than any. */
const UNREADABLE = '?';
const KEY_BYTES_MAX = 512;
const NAME_CHARACTERS_MAX = 64;

function pathTo(path: string, name: string): string {
  return path === '' ? name : `${path}.${name}`;
}

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
const COLON = 0x3a;

const ADDRESS_BYTES_MAX = 4_096;
const SCHEME_BYTES_MAX = 32;
/** Addresses of content that stands in the request or on the web. */
const WEB: readonly string[] = ['http', 'https', 'data', 'blob'];
/** By which a text names files at Alibaba Cloud. */
const FILE_SCHEME = 'fileid';

/** The scheme of the address that begins at `start`, in small letters; `null`: the text is none. */
function schemeAt(bytes: Buffer, start: number): string | null {
  for (let at = start; at < start + SCHEME_BYTES_MAX; at++) {
    const byte = bytes[at]!;
    if (byte === COLON) {
      const scheme = bytes.toString('latin1', start, at).toLowerCase();
      // In JSON, a slash may have a backslash before it.
      const isAddress = /^:(?:\\?\/){2}/.test(bytes.toString('latin1', at, at + 5)) || scheme === 'data';
      return isAddress ? scheme : null;
    }
    if (!isSchemeByte(byte)) return null;
  }
  return null;
}

function isSchemeByte(byte: number): boolean {
  const small = byte | 0x20;
  return (small >= 0x61 && small <= 0x7a) || (byte >= 0x2b && byte <= 0x39 && byte !== 0x2c && byte !== 0x2f);
}

/** Whether a text is the address of a server on the internet, and not one of the provider's own network. */
function isPublicServer(text: string | null): boolean {
  const url = text === null ? null : URL.parse(text);
  if (url === null || (url.protocol !== 'https:' && url.protocol !== 'http:')) return false;
  const host = withoutTrailing(url.hostname, '.');
  const address = host.startsWith('[') ? host.slice(1, -1) : host;
  if (isIP(address) !== 0) return isPublicAddress(address);
  return host.includes('.') && !OWN_DOMAINS.some((domain) => host.endsWith(domain));
}

/** Domains that no server on the internet has. */
const OWN_DOMAINS = [
  '.internal',
  '.local',
  '.localhost',
  '.localdomain',
  '.lan',
  '.home.arpa',
  '.intranet',
  '.corp',
  '.svc',
];
