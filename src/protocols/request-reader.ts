import type { JsonReader } from '../lib/json/json-reader.ts';
import { type ContentDemand, Reads } from './content-demand.ts';
import type { Part } from './content-names.ts';
import { RequestPath, shortName } from './request-path.ts';
import { type Form, Members, type Rule, SETTING, SeenMembers, state, type TextRule } from './request-rules.ts';
import { isExcepted, shownByText } from './request-texts.ts';
import { FIELD_VALUE, kindByName, OPEN_VALUE } from './shown-references.ts';
import { type StateReference, StateReferences } from './state-references.ts';
import { firstKeyOf, toolTypeOf } from './tool-type.ts';
import { TOOLS, toolFamily, toolRule } from './tools.ts';
import { addUnlisted, type UnlistedPart } from './unlisted-parts.ts';

export interface NamedState {
  readonly references: readonly StateReference[];
  readonly unlisted: readonly UnlistedPart[];
}

const TYPE_BYTES_MAX = 256;

/** How to read the requests of a protocol: its top-level members, and the objects for which it has functions of its own. */
export interface RequestTable {
  readonly top: Members;
  readonly readBy: Readonly<Record<string, OwnReading>>;
}

/** A function that reads an object which can contain itself, or whose meaning depends on several members together. */
export interface OwnReading {
  readonly members: Members;
  /** Reads the next object. Absent: the members are read by their rules. */
  readonly read?: (reader: RequestReader, reads: Reads) => void;
}

/**
 * Reads the provider state that a JSON body refers to and, at the same time, what affects the cost.
 * @param demand collects what affects the cost
 * @throws GatewayError `invalidRequest` if an inspected member is ambiguous, or a reference has a wrong type
 */
export function readNamedState(body: JsonReader, table: RequestTable, demand: ContentDemand | null = null): NamedState {
  const reader = new RequestReader(body, table, demand);
  reader.members(table.top, demand === null ? Reads.nothing : Reads.request);
  return { references: reader.references.list, unlisted: reader.unlisted };
}

/** Reads what affects the cost in the next value. */
export function readContent(json: JsonReader, demand: ContentDemand): void {
  new RequestReader(json, NO_TABLE, demand).content(Reads.content);
}

/** The tool or object that is being read. `name`: the setting that allows its unknown members; `depth`: its depth in the path. */
interface Within {
  readonly name: string;
  readonly depth: number;
}

export class RequestReader {
  readonly json: JsonReader;
  readonly references = new StateReferences();
  readonly unlisted: UnlistedPart[] = [];
  readonly #table: RequestTable;
  readonly #demand: ContentDemand | null;
  readonly #path: RequestPath;
  #within: Within | null = null;
  #toolDepth = 0;

  constructor(body: JsonReader, table: RequestTable, demand: ContentDemand | null) {
    this.json = body;
    this.#table = table;
    this.#demand = demand;
    this.#path = new RequestPath(body.bytes);
  }

  param(member?: string): string {
    const path = this.#path.text();
    if (member === undefined) return path;
    return path === '' ? member : `${path}.${member}`;
  }

  /** @param notice called for each member that has a rule; if it reads the value, the value is not read again */
  members(members: Members, reads: Reads, notice?: (name: string) => void): void {
    const { json } = this;
    if (reads === Reads.content) this.#demand!.begin();
    const seen = new SeenMembers();
    for (json.enter(); json.nextMember(); ) {
      const { keyStart: start, keyEnd: end } = json;
      const key = members.find(json.bytes, start, end);
      const { rule } = key;
      const inner = reads === Reads.nothing ? reads : this.#ask(reads, key.part);
      if (rule === undefined) {
        this.#other(members, start, end, inner);
        continue;
      }
      const isInspected = rule !== 'content' && rule !== 'model';
      if (isInspected || notice !== undefined) {
        seen.add(key, json);
        const { offset } = json;
        notice?.(key.name);
        if (json.offset !== offset) continue;
      }
      if (isInspected) this.#member(rule, start, end, inner);
      else this.content(inner);
    }
    if (reads === Reads.content) this.#demand!.end(json);
  }

  #ask(reads: Reads, part: Part): Reads {
    if (reads >= Reads.content) return this.#demand!.part(reads, part, this.json);
    return this.#demand!.readMember(this.json, reads === Reads.request);
  }

  #member(rule: Rule, start: number, end: number, reads: Reads): void {
    this.#path.enter(start, end);
    this.#value(rule, reads);
    this.#path.leave();
  }

  #items(rule: Rule, reads: Reads): void {
    const { json } = this;
    this.#path.enterArray();
    for (json.enter(); json.nextItem(); ) {
      this.#path.nextItem();
      this.#value(rule, reads);
    }
    this.#path.leaveArray();
  }

  /** Reads what affects the cost in the next value. It contains no references. */
  content(reads: Reads): void {
    if (reads === Reads.nothing) return;
    const { json } = this;
    const { kind } = json;
    if (kind === 'object') this.members(CONTENT, reads);
    else if (kind === 'array') for (json.enter(); json.nextItem(); ) this.content(reads);
    else if (kind === 'string' && reads > Reads.content) this.#demand!.address(reads, json);
  }

  #value(rule: Rule, reads: Reads): void {
    if (this.json.kind === 'null') return;
    switch (rule) {
      case 'content':
      case 'model':
        this.content(reads);
        break;
      case 'setting':
        this.#form(SETTING, reads);
        break;
      case 'tools':
        if (reads !== Reads.nothing) this.#contentOnly(reads);
        this.#tools();
        break;
      case 'more':
        if (this.json.kind === 'object') this.members(this.#table.top, reads);
        break;
      default:
        if (rule.allowedAs === undefined) this.#form(rule, reads);
        else this.#formWithin(this.#at(rule.allowedAs), rule, reads);
    }
  }

  #contentOnly(reads: Reads): void {
    const { json } = this;
    new RequestReader(json.from(json.offset), this.#table, this.#demand).content(reads);
  }

  #formWithin(within: Within | null, rule: Form, reads: Reads): void {
    const around = this.#within;
    this.#within = within;
    this.#form(rule, reads);
    this.#within = around;
  }

  #form(rule: Form, reads: Reads): void {
    const { text, items, members, readBy, any } = rule;
    if (any !== undefined) {
      this.references.add({ kind: any, id: '', param: this.param() });
      this.content(reads);
      return;
    }
    const { kind } = this.json;
    if (kind === 'object' && readBy !== undefined) {
      this.#own(this.#table.readBy[readBy]!, reads);
    } else if (kind === 'object' && members !== undefined) {
      this.members(members, reads);
    } else if (kind === 'array' && items !== undefined) {
      this.#items(items, reads);
    } else if (kind === 'array' && (members !== undefined || readBy !== undefined)) {
      // The rule describes a single item, but the value is an array.
      this.#unlistHere('form');
      this.#items(rule, reads);
    } else if (kind === 'object' || kind === 'array' || text === undefined) {
      this.#unexpected(rule, reads);
    } else {
      if (kind === 'string' && reads > Reads.content) this.#demand!.address(reads, this.json);
      this.#text(text);
    }
  }

  #own({ members, read }: OwnReading, reads: Reads): void {
    if (read === undefined) this.members(members, reads);
    else read(this, reads);
  }

  #text(rule: TextRule): void {
    const { json } = this;
    if (typeof rule === 'object') {
      if (!isExcepted(json, rule)) this.references.readId(json, rule.state, this.param());
    } else if (json.kind === 'string') {
      const shown = shownByText(json, rule);
      if (shown === 'unlisted') this.#unlistHere('form');
      else if (shown !== null) this.references.add({ ...shown, param: this.param() });
    }
  }

  #unexpected({ text }: Form, reads: Reads): void {
    if (typeof text === 'object') {
      this.references.readId(this.json, text.state, this.param());
      return;
    }
    this.#unlistHere('form');
    this.#form(OPEN_VALUE, reads);
  }

  #other({ others }: Members, start: number, end: number, reads: Reads): void {
    const { json } = this;
    const { kind } = json;
    if (kind === 'null') return;
    if (others === 'content') {
      this.content(reads);
      return;
    }
    if (typeof others === 'object') {
      this.#member(others.each, start, end, reads);
      return;
    }
    this.#path.enter(start, end);
    if (others === 'unknown') this.#unlistHere('member');
    const named = others === 'field' || kind === 'object' ? null : kindByName(json.bytes, start, end);
    // Unlike other values, a boolean cannot be a reference.
    if (kind !== 'true' && kind !== 'false') {
      this.#form(named !== null ? state(named) : others === 'field' ? FIELD_VALUE : OPEN_VALUE, reads);
    }
    this.#path.leave();
  }

  #tools(): void {
    const { json } = this;
    if (json.kind === 'array') this.#items('tools', Reads.nothing);
    else if (json.kind === 'object') this.#tool();
    else if (json.kind === 'string') this.#unlistTool(json.text(TYPE_BYTES_MAX));
  }

  #tool(): void {
    const { type, isClient } = toolTypeOf(this.json);
    const rule = type !== null ? toolRule(type) : isClient ? TOOLS.custom! : null;
    // Deeper tools are not read, so that no tool is scanned again and again.
    if (rule === null || this.#toolDepth === TOOL_DEPTH_MAX) {
      if (type === null) this.#unlistTool(firstKeyOf(this.json));
      else this.#unlistTool(type, 'type');
      this.#formWithin(null, OPEN_VALUE, Reads.nothing);
      return;
    }
    this.#toolDepth++;
    const within = rule.runs === 'client' ? null : this.#at(`tools.${toolFamily(type!)}`);
    this.#formWithin(within, rule, Reads.nothing);
    this.#toolDepth--;
  }

  #at(name: string): Within {
    return { name, depth: this.#path.depth };
  }

  #unlistTool(type: string | null, member?: string): void {
    if (type === null) return;
    addUnlisted(this.unlisted, { name: `tools.${shortName(type)}`, param: this.param(member), problem: 'type' });
  }

  #unlistHere(problem: UnlistedPart['problem']): void {
    if (this.#within === null) return;
    const { name, depth } = this.#within;
    addUnlisted(this.unlisted, { name: `${name}${this.#path.textFrom(depth)}`, param: this.param(), problem });
  }
}

const TOOL_DEPTH_MAX = 2;

const CONTENT = new Members({}, 'content');
const NO_TABLE: RequestTable = { top: CONTENT, readBy: {} };
