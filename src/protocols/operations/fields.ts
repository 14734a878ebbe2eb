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

/** The most bytes that a text may have as it is spelt: names, ids and words. A longer one is refused unread. */
const TEXT_BYTES_MAX = 64 * 1024;
/** The most bytes of a number. */
const NUMBER_BYTES_MAX = 1024;

/**
 * The few fields of a JSON body that the gateway reads, and where they stand, so that what must differ for the provider
 * can be spliced into the bytes. Null is absent. A second copy of a key that is read is refused, because two readers
 * could disagree about which one counts; so is a key that is the same for a reader that ignores case.
 */
export class BodyFields {
  readonly bytes: Buffer;
  /** Offsets of the opening brace of the object and of the byte behind its closing one. */
  readonly start: number;
  readonly end: number;
  /** In the order of the text, duplicates included. */
  readonly members: readonly JsonMember[];
  /** See `JsonOutline`. */
  readonly longValues: readonly number[];
  readonly #path: string;
  /** The keys of the members when folded, in the same order. */
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

  /** @throws GatewayError `invalidRequest` if the bytes are not one JSON object in UTF-8 with clear keys, JsonStepsError as `scanJson`. */
  static read(bytes: Buffer, limits?: JsonScanLimits): BodyFields {
    if (bytes.length === 0) throw invalidRequest('The body is empty; a JSON object is expected.');
    if (!isUtf8(bytes)) throw invalidRequest('The body is not valid UTF-8.');
    const outline = outlineOf(bytes, 0, bytes.length, limits);
    if (outline.kind !== 'object') throw invalidRequest(`The body is a JSON ${outline.kind}; an object is expected.`);
    const fields = new BodyFields(bytes, outline, '');
    if (fields.#hasDoubtfulKey()) for (const decisive of DECISIVE_FIELDS) fields.member(decisive);
    return fields;
  }

  /** Whether a decisive key occurs twice, or in another spelling than its own: only then each of them needs a look. */
  #hasDoubtfulKey(): boolean {
    for (const [index, { key }] of this.members.entries()) {
      const folded = this.#foldedKeys[index]!;
      const decisive = DECISIVE_BY_FOLDED.get(folded);
      if (decisive !== undefined && (decisive !== key || this.#foldedKeys.indexOf(folded) < index)) return true;
    }
    return false;
  }

  /** A reader of the whole object, or of the value at an offset of it. */
  reader(start = this.start): JsonReader {
    return new JsonReader(this.bytes, start, this.longValues);
  }

  get isEmpty(): boolean {
    return this.members.length === 0;
  }

  /** Whether the key is there with a value other than null. */
  has(key: string): boolean {
    return this.#present(key) !== undefined;
  }

  /** The splice that gives a key a value: in place of the one that it has, else as the first member of the object. */
  assignment(key: string, json: string): Splice {
    const { start, end, before, after } = this.#place(key);
    return { start, end, text: `${before}${json}${after}` };
  }

  /** Where the provider's name of the model goes: in place of the client's, else as the first member of the object. */
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

  /**
   * The member as it stands, null included; `undefined` if the key is absent.
   *
   * @throws GatewayError `invalidRequest` if there are two, or one that some readers take for this key.
   */
  member(key: string): JsonMember | undefined {
    const folded = foldings.get(key) ?? noteFolding(key);
    let found: JsonMember | undefined;
    let isRepeated = false;
    for (let index = 0; index < this.members.length; index++) {
      if (this.#foldedKeys[index] !== folded) continue;
      const member = this.members[index]!;
      if (member.key !== key) {
        const spelt = JSON.stringify(member.key.slice(0, 80));
        const message = `The key ${spelt} is read as "${this.param(key)}" by some; spell it so, and send it once.`;
        throw invalidRequest(message, this.param(key));
      }
      isRepeated = found !== undefined;
      found = member;
    }
    if (isRepeated) throw this.#refusal(key, 'appears more than once', 'key');
    return found;
  }

  /** The text of a field that must be there and not be empty. */
  requiredText(key: string): string {
    const member = this.#present(key);
    if (member === undefined) throw this.#refusal(key, 'is required');
    const text = this.#string(key, member);
    if (text === '') throw this.#refusal(key, 'must not be empty');
    return text;
  }

  /** The text of a field that may be absent; it may be empty. */
  optionalText(key: string): string | null {
    const member = this.#present(key);
    return member === undefined ? null : this.#string(key, member);
  }

  /** One of a few words. */
  optionalWord<const Word extends string>(key: string, words: readonly Word[]): Word | null {
    const text = this.optionalText(key);
    if (text === null) return null;
    const word = words.find((candidate) => candidate === text);
    if (word !== undefined) return word;
    throw this.#refusal(key, `must be one of ${words.map((candidate) => `"${candidate}"`).join(', ')}`);
  }

  /**
   * A small value as it is, for fields of several types; `undefined` if it is absent or null.
   *
   * @throws GatewayError `invalidRequest` if it is longer than what is read of a text.
   */
  value(key: string): unknown {
    const member = this.#present(key);
    if (member === undefined) return undefined;
    this.#requireShort(key, member);
    return this.#parsed(key, member);
  }

  /**
   * A value of any size as it is; `undefined` if it is absent or null. It may take long and need much memory, so it
   * is for code that runs in another thread if the body is not small.
   */
  wholeValue(key: string): unknown {
    const member = this.#present(key);
    return member === undefined ? undefined : this.#parsed(key, member);
  }

  #parsed(key: string, member: JsonMember): unknown {
    const text = this.#text(member);
    const value: unknown = JSON.parse(text);
    if (Number.isInteger(value) && !isExactWhole(text)) throw this.#wrongType(key, member, 'a number of fewer digits');
    return value;
  }

  /** Checks that a field is there and is of one of a few kinds. What is in it is the provider's business. */
  requireKind(key: string, kinds: readonly JsonKind[]): void {
    if (!this.has(key)) throw this.#refusal(key, 'is required');
    this.optionalKind(key, kinds);
  }

  /** Checks that a field, if it is there, is of one of a few kinds. */
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

  /** A whole number from `min` up, as in `max_tokens`. */
  optionalWhole(key: string, min: number): number | null {
    const member = this.#present(key);
    if (member === undefined) return null;
    const isShort = member.kind === 'number' && sizeBytes(member) <= NUMBER_BYTES_MAX;
    const text = isShort ? this.#text(member) : '';
    const value = isExactWhole(text) ? Number(text) : Number.NaN;
    // The sum makes zero of a negative zero.
    if (Number.isSafeInteger(value) && value >= min) return value + 0;
    throw this.#wrongType(key, member, `a whole number from ${min}`);
  }

  /** A whole number above zero of a field that only some vendors know; `null` for any other value. */
  lenientWhole(key: string): number | null {
    const member = this.#present(key);
    const value = member?.kind === 'number' ? Number(this.#text(member)) : Number.NaN;
    return Number.isSafeInteger(value) && value > 0 ? value : null;
  }

  /** The fields of a nested object. */
  optionalObject(key: string): BodyFields | null {
    const member = this.#present(key);
    if (member === undefined) return null;
    if (member.kind !== 'object') throw this.#wrongType(key, member, 'an object');
    return new BodyFields(this.bytes, outlineOf(this.bytes, member.valueStart, member.valueEnd), this.param(key));
  }

  /** The name of a field as an error states it: `stream_options.include_usage`. */
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
    // Python keeps half a surrogate pair, Go reads U+FFFD.
    if (!text.isWellFormed()) throw this.#wrongType(key, member, 'a string of whole characters');
    return text;
  }

  #requireShort(key: string, member: JsonMember): void {
    if (sizeBytes(member) <= TEXT_BYTES_MAX) return;
    throw this.#refusal(key, `is longer than the ${TEXT_BYTES_MAX} bytes that are read of it`);
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

/** The folded form of the keys that the gateway asks for: a few dozen, and most of those that clients send. */
const foldings = new Map<string, string>();

function noteFolding(key: string): string {
  const folded = foldedName(key);
  foldings.set(key, folded);
  return folded;
}

/** @throws GatewayError `invalidRequest` if the bytes are no JSON, or beyond a limit. */
function outlineOf(bytes: Buffer, start: number, end: number, limits = defaultJsonScanLimits): JsonOutline {
  try {
    return scanJson(bytes, start, end, limits);
  } catch (error) {
    if (!(error instanceof JsonSyntaxError)) throw error;
    const problem = error instanceof JsonLimitError ? 'beyond a limit' : 'not valid JSON';
    throw invalidRequest(`The body is ${problem}: ${error.message} (at byte ${error.offset}).`);
  }
}

function sizeBytes({ valueStart, valueEnd }: JsonMember): number {
  return valueEnd - valueStart;
}
