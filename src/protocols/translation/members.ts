import type { JsonSlice } from '../../lib/json/json-slice.ts';
import type { RawJson, RawText } from './conversation.ts';
import type { TranslationNotes } from './notes.ts';

/** Members of an object that a reader takes one after the other. Those that nobody takes are listed as left out. */
export class ReadMembers {
  readonly path: string;
  readonly #notes: TranslationNotes;
  readonly #members: Map<string, JsonSlice>;

  /** @throws GatewayError `invalidRequest` if the value is no object */
  constructor(slice: JsonSlice, path: string, notes: TranslationNotes) {
    if (slice.kind !== 'object') notes.refuse(path === '' ? 'body' : path, 'is no object');
    this.path = path;
    this.#notes = notes;
    this.#members = slice.members();
  }

  pathOf(name: string): string {
    return this.path === '' ? name : `${this.path}.${name}`;
  }

  /** Takes a member; `null` if it is absent or null. */
  take(name: string): JsonSlice | null {
    const member = this.#members.get(name);
    this.#members.delete(name);
    return member === undefined || member.kind === 'null' ? null : member;
  }

  /** @throws GatewayError `invalidRequest` if the member is present and no string */
  text(name: string): string | null {
    const member = this.take(name);
    return member === null ? null : (member.text ?? this.#wrong(name, 'a string'));
  }

  rawText(name: string): RawText | null {
    const member = this.take(name);
    return member === null ? null : (member.rawText ?? this.#wrong(name, 'a string'));
  }

  raw(name: string): RawJson | null {
    return this.take(name)?.raw ?? null;
  }

  requiredText(name: string): string {
    return this.text(name) ?? this.#wrong(name, 'a string');
  }

  requiredRawText(name: string): RawText {
    return this.rawText(name) ?? this.#wrong(name, 'a string');
  }

  boolean(name: string): boolean | null {
    const member = this.take(name);
    if (member === null) return null;
    if (member.kind !== 'true' && member.kind !== 'false') return this.#wrong(name, 'a boolean');
    return member.kind === 'true';
  }

  /** Takes a whole number of tokens. */
  count(name: string): number | null {
    const member = this.take(name);
    if (member === null) return null;
    const value = member.kind === 'number' ? Number(member.raw) : Number.NaN;
    return Number.isSafeInteger(value) && value >= 0 ? value : this.#wrong(name, 'a whole number');
  }

  /** Takes the items of an array; none if it is absent. */
  items(name: string): readonly JsonSlice[] {
    const member = this.take(name);
    if (member === null) return [];
    return member.kind === 'array' ? member.items() : this.#wrong(name, 'an array');
  }

  /** Takes content, which is a string or an array; `null` if it is absent. */
  content(name: string): JsonSlice | null {
    const member = this.take(name);
    if (member === null || member.kind === 'string' || member.kind === 'array') return member;
    return this.#wrong(name, 'a string or an array');
  }

  /** Takes an object; `null` if it is absent. */
  object(name: string): ReadMembers | null {
    const member = this.take(name);
    return member === null ? null : this.within(name, member);
  }

  /** Reads a member that was taken. @throws GatewayError `invalidRequest` if it is no object */
  within(name: string, member: JsonSlice): ReadMembers {
    return new ReadMembers(member, this.pathOf(name), this.#notes);
  }

  /** Lists a member that was taken. */
  leaveOut(name: string): void {
    this.#notes.leaveOut(this.pathOf(name));
  }

  /** Takes all members that are left, with those that are null. */
  rest(): ReadonlyMap<string, JsonSlice> {
    const rest = new Map(this.#members);
    this.#members.clear();
    return rest;
  }

  /** Lists what was not taken. Call this when everything that can be expressed has been taken. */
  leaveOutRest(): void {
    for (const [name, { kind }] of this.rest()) if (kind !== 'null') this.#notes.leaveOut(this.pathOf(name));
  }

  /** @throws GatewayError `invalidRequest` */
  refuse(name: string, reason: string): never {
    return this.#notes.refuse(this.pathOf(name), reason);
  }

  #wrong(name: string, expected: string): never {
    return this.refuse(name, `must be ${expected}`);
  }
}
