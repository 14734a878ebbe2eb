import { isUtf8 } from 'node:buffer';
import { invalidRequest } from '../../errors/gateway-error.ts';
import { foldedName } from '../../lib/folded-name.ts';
import { isExactWhole } from '../../lib/json/json-number.ts';
import { JsonReader } from '../../lib/json/json-reader.ts';
import {
  defaultJsonScanLimits,
  type JsonKind,
  JsonLimitError,
  type JsonMember,
  type JsonOutline,
  type JsonScanLimits,
  JsonSyntaxError,
  scanJson,
} from '../../lib/json/json-scan.ts';
import { DECISIVE_BY_FOLDED, DECISIVE_FIELDS } from './decisive-fields.ts';
import type { ModelPlace, Splice } from './operation.ts';

/** Maximum bytes of a string that the gateway reads, as JSON. */
const TEXT_BYTES_MAX = 64 * 1024;
const NUMBER_BYTES_MAX = 1024;

/** The fields of a JSON body. Null counts as absent. Repeated and misspelled keys are refused, because parsers read them differently. */
export class BodyFields {
  readonly bytes: Buffer;
  /** The body's object: `start` is the offset of its opening brace, `end` the offset after its closing brace. */
  readonly start: number;
  readonly end: number;
  readonly members: readonly JsonMember[];
  readonly longValues: readonly number[];
  readonly #path: string;
  readonly #foldedKeys: string[] = [];

  private constructor(bytes: Buffer, outline: JsonOutline, path: string) {
    this.bytes = bytes;
    this.start = outline.start;
    this.end = outline.end;
    this.members = outline.members;
    this.longValues = outline.longValues;
    this.#path = path;
    for (const { key } of outline.members) this.#foldedKeys.push(foldings.get(key) ?? foldedName(key));
  }

  /** Reads a body. @throws GatewayError `invalidRequest` if it is not one JSON object in UTF-8; JsonStepsError like `scanJson` */
  static read(bytes: Buffer, limits?: JsonScanLimits): BodyFields {
    if (bytes.length === 0) throw invalidRequest('The body is empty; a JSON object is expected.');
    if (!isUtf8(bytes)) throw invalidRequest('The body is not valid UTF-8.');
    const outline = outlineOf(bytes, 0, bytes.length, limits);
    if (outline.kind !== 'object') throw invalidRequest(`The body is a JSON ${outline.kind}; an object is expected.`);
    const fields = new BodyFields(bytes, outline, '');
    if (fields.#hasDoubtfulKey()) for (const decisive of DECISIVE_FIELDS) fields.member(decisive);
    return fields;
  }

  #hasDoubtfulKey(): boolean {
    for (const [index, { key }] of this.members.entries()) {
      const folded = this.#foldedKeys[index]!;
      const decisive = DECISIVE_BY_FOLDED.get(folded);
      if (decisive !== undefined && (decisive !== key || this.#foldedKeys.indexOf(folded) < index)) return true;
    }
    return false;
  }

  reader(start = this.start): JsonReader {
    return new JsonReader(this.bytes, start, this.longValues);
  }

  get isEmpty(): boolean {
    return this.members.length === 0;
  }

  has(key: string): boolean {
    return this.#present(key) !== undefined;
  }

  /** Returns the change that sets a key: it replaces the value, or adds the key as the first member. */
  assignment(key: string, json: string): Splice {
    const { start, end, before, after } = this.#place(key);
    return { start, end, text: `${before}${json}${after}` };
  }

  /** Returns where the provider's name of the model is inserted: at the value of `model`, or as a new first member. */
  modelPlace(): ModelPlace {
    return this.#place('model');
  }

  #place(key: string): ModelPlace {
    const member = this.member(key);
    if (member !== undefined) {
      const { valueStart: start, valueEnd: end, kind } = member;
      return { start, end, before: '', after: '', isNamed: kind !== 'null' };
    }
    const [start, after] = [this.start + 1, this.isEmpty ? '' : ','];
    return { start, end: start, before: `${JSON.stringify(key)}:`, after, isNamed: false };
  }

  /** Returns a member, even if its value is null. @throws GatewayError `invalidRequest` if the key is repeated or misspelled */
  member(key: string): JsonMember | undefined {
    const folded = foldings.get(key) ?? noteFolding(key);
    let found: JsonMember | undefined;
    let isRepeated = false;
    for (let index = 0; index < this.members.length; index++) {
      if (this.#foldedKeys[index] !== folded) continue;
      const member = this.members[index]!;
      if (member.key !== key) {
        const spelt = JSON.stringify(member.key.slice(0, 80));
        const message = `The key ${spelt} can be mistaken for "${this.param(key)}". Use the exact spelling, only once.`;
        throw invalidRequest(message, this.param(key));
      }
      isRepeated = found !== undefined;
      found = member;
    }
    if (isRepeated) throw this.#refusal(key, 'appears more than once', 'key');
    return found;
  }

  requiredText(key: string): string {
    const member = this.#present(key);
    if (member === undefined) throw this.#refusal(key, 'is required');
    const text = this.#string(key, member);
    if (text === '') throw this.#refusal(key, 'must not be empty');
    return text;
  }

  optionalText(key: string): string | null {
    const member = this.#present(key);
    return member === undefined ? null : this.#string(key, member);
  }

  optionalWord<const Word extends string>(key: string, words: readonly Word[]): Word | null {
    const text = this.optionalText(key);
    if (text === null) return null;
    const word = words.find((candidate) => candidate === text);
    if (word !== undefined) return word;
    throw this.#refusal(key, `must be one of ${words.map((candidate) => `"${candidate}"`).join(', ')}`);
  }

  /** Returns a value. @throws GatewayError `invalidRequest` if it is longer than a string may be */
  value(key: string): unknown {
    const member = this.#present(key);
    if (member === undefined) return undefined;
    this.#requireShort(key, member);
    return this.#parsed(key, member);
  }

  /** Returns a value of any size. Parsing can be slow, so large bodies must be read in another thread. */
  wholeValue(key: string): unknown {
    const member = this.#present(key);
    return member === undefined ? undefined : this.#parsed(key, member);
  }

  #parsed(key: string, member: JsonMember): unknown {
    const text = this.#text(member);
    const value: unknown = JSON.parse(text);
    if (Number.isInteger(value) && !isExactWhole(text))
      throw this.#wrongType(key, member, 'a number with fewer digits');
    return value;
  }

  /** Checks only the type of a value. The provider validates its content. */
  requireKind(key: string, kinds: readonly JsonKind[]): void {
    if (!this.has(key)) throw this.#refusal(key, 'is required');
    this.optionalKind(key, kinds);
  }

  optionalKind(key: string, kinds: readonly JsonKind[]): void {
    const member = this.#present(key);
    if (member === undefined || kinds.includes(member.kind)) return;
    throw this.#wrongType(
      key,
      member,
      kinds.map((kind) => (/^[aeiou]/.test(kind) ? `an ${kind}` : `a ${kind}`)).join(' or '),
    );
  }

  optionalBoolean(key: string): boolean | null {
    const member = this.#present(key);
    if (member === undefined) return null;
    if (member.kind !== 'true' && member.kind !== 'false') throw this.#wrongType(key, member, 'a boolean');
    return member.kind === 'true';
  }

  optionalWhole(key: string, min: number): number | null {
    const member = this.#present(key);
    if (member === undefined) return null;
    const isShort = member.kind === 'number' && sizeBytes(member) <= NUMBER_BYTES_MAX;
    const text = isShort ? this.#text(member) : '';
    const value = isExactWhole(text) ? Number(text) : Number.NaN;
    // Adding 0 converts -0 to 0.
    if (Number.isSafeInteger(value) && value >= min) return value + 0;
    throw this.#wrongType(key, member, `a whole number from ${min}`);
  }

  /** Reads a whole number, or returns `null` for anything else. For fields that only some vendors define. */
  lenientWhole(key: string): number | null {
    const member = this.#present(key);
    const value = member?.kind === 'number' ? Number(this.#text(member)) : Number.NaN;
    return Number.isSafeInteger(value) && value > 0 ? value : null;
  }

  optionalObject(key: string): BodyFields | null {
    const member = this.#present(key);
    if (member === undefined) return null;
    if (member.kind !== 'object') throw this.#wrongType(key, member, 'an object');
    return new BodyFields(this.bytes, outlineOf(this.bytes, member.valueStart, member.valueEnd), this.param(key));
  }

  /** Returns the path of a field for error messages, such as `stream_options.include_usage`. */
  param(key: string): string {
    return this.#path === '' ? key : `${this.#path}.${key}`;
  }

  #present(key: string): JsonMember | undefined {
    const member = this.member(key);
    return member?.kind === 'null' ? undefined : member;
  }

  #string(key: string, member: JsonMember): string {
    if (member.kind !== 'string') throw this.#wrongType(key, member, 'a string');
    this.#requireShort(key, member);
    const text = JSON.parse(this.#text(member)) as string;
    // Servers differ in how they read an unpaired surrogate: Python keeps it, Go replaces it with U+FFFD.
    if (!text.isWellFormed()) throw this.#wrongType(key, member, 'a string of complete Unicode characters');
    return text;
  }

  #requireShort(key: string, member: JsonMember): void {
    if (sizeBytes(member) <= TEXT_BYTES_MAX) return;
    throw this.#refusal(key, `is longer than ${TEXT_BYTES_MAX} bytes`);
  }

  #text(member: JsonMember): string {
    return this.bytes.toString('utf8', member.valueStart, member.valueEnd);
  }

  #wrongType(key: string, member: JsonMember, expected: string): Error {
    const kind = member.kind === 'true' || member.kind === 'false' ? 'boolean' : member.kind;
    const { valueStart, valueEnd } = member;
    const shown = this.bytes.toString('utf8', valueStart, Math.min(valueEnd, valueStart + 40));
    const found = kind === 'number' ? shown : kind;
    return this.#refusal(key, `must be ${expected}, not ${found}`);
  }

  #refusal(key: string, problem: string, what = 'field'): Error {
    const param = this.param(key);
    return invalidRequest(`The ${what} "${param}" ${problem}.`, param);
  }
}

/** Cache of keys in folded form, for the few dozen that the gateway reads. */
const foldings = new Map<string, string>();

function noteFolding(key: string): string {
  const folded = foldedName(key);
  foldings.set(key, folded);
  return folded;
}

/** Scans the members. @throws GatewayError `invalidRequest` for invalid JSON, or too many members, values or levels */
function outlineOf(bytes: Buffer, start: number, end: number, limits = defaultJsonScanLimits): JsonOutline {
  try {
    return scanJson(bytes, start, end, limits);
  } catch (error) {
    if (!(error instanceof JsonSyntaxError)) throw error;
    const problem = error instanceof JsonLimitError ? 'is too complex' : 'is not valid JSON';
    throw invalidRequest(`The body ${problem}: ${error.message} (at byte ${error.offset}).`);
  }
}

function sizeBytes({ valueStart, valueEnd }: JsonMember): number {
  return valueEnd - valueStart;
}
