import { ByteSpan } from '../byte-span.ts';
import { LocatedStrings } from './json-located.ts';
import { decodeString, hasBytes } from './json-string.ts';
import type { MemberNames } from './member-names.ts';

const QUOTE = 0x22;
const OPEN_BRACKET = 0x5b;
const BACKSLASH = 0x5c;

interface KeptMembers {
  readonly keep: readonly string[];
  readonly keepMarked?: MarkedMember | undefined;
  readonly count?: readonly string[];
  readonly locate?: string | undefined;
  readonly keptBytesMax: number;
}

/**
 * A member to keep if it contains a mark: somewhere in it, an object has a member with a name in `marks`, whose value is a string or a
 * non-empty array or object.
 */
export interface MarkedMember {
  readonly name: string;
  /** Names of marks; `null`: the member never counts as marked. */
  readonly marks: MemberNames | null;
  /** Whether the member is kept even without a mark, up to the same size. */
  readonly isKeptUnmarked?: boolean;
}

/** Maximum size of a member that only `keepMarked` names. It does not count for `keptBytesMax`. */
export const MARKED_BYTES_MAX = 1024 * 1024;

interface CapturedMember {
  readonly name: string;
  isKept: boolean;
  readonly isCounted: boolean;
  marks: MemberNames | null;
  isMarked: boolean;
  value: Buffer | undefined;
  items: number | null;
}

/**
 * Keeps and counts members of the outermost object. `JsonCapture` reports the offsets, in the current chunk, at which keys, values and
 * items begin and end.
 */
export class CapturedMembers {
  readonly #asked: CapturedMember[] = [];
  /** Maximum length of a requested name, if each UTF-16 unit is written as `\uXXXX`. */
  #keyBytesMax = 0;
  readonly #keptBytesMax: number;
  #keptBytes = 0;
  #markedBytes = 0;
  /** The member that only `keepMarked` names. */
  #onlyMarked: CapturedMember | null = null;
  #keepsUnmarked = false;

  /** The current member; `null` if it was not requested. */
  #member: CapturedMember | null = null;
  /** The current member, if its value is an array whose items are counted; otherwise `null`. */
  #counted: CapturedMember | null = null;
  /** The member whose string values are located; `null`: none is. */
  #locatedMember: CapturedMember | null = null;
  readonly located: LocatedStrings | null = null;
  /** Bytes of the current key or value of the outermost object. */
  readonly #span = new ByteSpan();

  constructor({ keep, keepMarked, count = [], locate, keptBytesMax }: KeptMembers) {
    for (const name of keep) this.#ask(name, true, count.includes(name));
    for (const name of count) if (!keep.includes(name)) this.#ask(name, false, true);
    if (keepMarked !== undefined) {
      const member = this.#askedFor(keepMarked.name) ?? this.#ask(keepMarked.name, false, false);
      member.marks = keepMarked.marks;
      if (!member.isKept) this.#onlyMarked = member;
      this.#keepsUnmarked = keepMarked.isKeptUnmarked ?? false;
      member.isKept = true;
    }
    if (locate !== undefined) {
      this.#locatedMember = this.#askedFor(locate) ?? this.#ask(locate, false, false);
      this.located = new LocatedStrings();
    }
    this.#keptBytesMax = keptBytesMax;
  }

  #ask(name: string, isKept: boolean, isCounted: boolean): CapturedMember {
    const member = { name, isKept, isCounted, marks: null, isMarked: false, value: undefined, items: null };
    this.#asked.push(member);
    this.#keyBytesMax = Math.max(this.#keyBytesMax, 6 * name.length);
    return member;
  }

  #askedFor(key: string): CapturedMember | undefined {
    for (const member of this.#asked) if (member.name === key) return member;
    return undefined;
  }

  get memoryBytes(): number {
    return this.#keptBytes + this.#markedBytes + this.#span.memoryBytes;
  }

  value(key: string): Buffer | undefined {
    return this.#askedFor(key)?.value;
  }

  count(key: string): number | null {
    return this.#askedFor(key)?.items ?? null;
  }

  isMarked(key: string): boolean {
    return this.#askedFor(key)?.isMarked ?? false;
  }

  get marks(): MemberNames | null {
    return this.#member?.marks ?? null;
  }

  /** Called when a mark was found in the current member. */
  marked(): void {
    this.#member!.isMarked = true;
  }

  /** Called at a key. `at`: offset of its opening quote. */
  keyBegins(at: number): void {
    this.#span.begin(at + 1, this.#keyBytesMax);
  }

  /** Called at the end of the key `chunk[start, end)`. `start` is negative if the key began in an earlier chunk. */
  keyEnds(chunk: Buffer, start: number, end: number): void {
    this.#member = this.#memberOf(chunk, start, end);
  }

  #memberOf(chunk: Buffer, start: number, end: number): CapturedMember | null {
    if (start >= 0) {
      this.#span.letGo();
      return end - start > this.#keyBytesMax ? null : findKey(this.#asked, chunk, start, end);
    }
    const key = this.#span.end(chunk, end);
    return key === null ? null : findKey(this.#asked, key, 0, key.length);
  }

  /** Called at a value. `byte`: its first byte. It replaces the value of an earlier member with the same name. */
  valueBegins(byte: number, at: number): void {
    const member = this.#member;
    if (member === null) return;
    if (member === this.#locatedMember && byte === QUOTE) this.located!.begin(at);
    if (member.isCounted) {
      member.items = byte === OPEN_BRACKET ? 0 : null;
      this.#counted = byte === OPEN_BRACKET ? member : null;
    }
    member.isMarked = false;
    if (member.isKept) {
      this.#count(member, -(member.value?.length ?? 0));
      member.value = undefined;
      this.#span.begin(at, member === this.#onlyMarked ? MARKED_BYTES_MAX : this.#keptBytesMax - this.#keptBytes);
    }
  }

  /** Drops the value of the member that only `keepMarked` names, and does not keep it any more. */
  giveUpMarked(): void {
    const member = this.#onlyMarked;
    if (member === null) return;
    if (this.#member === member) this.#span.letGo();
    member.isKept = false;
    member.value = undefined;
    this.#markedBytes = 0;
  }

  #count(member: CapturedMember, sizeBytes: number): void {
    if (member === this.#onlyMarked) this.#markedBytes += sizeBytes;
    else this.#keptBytes += sizeBytes;
  }

  itemBegins(): void {
    if (this.#counted !== null) this.#counted.items!++;
  }

  valueEnds(chunk: Buffer, end: number): void {
    const member = this.#member;
    if (member === null) return;
    if (member === this.#locatedMember) this.located!.end(end);
    if (member === this.#onlyMarked && !member.isMarked && !this.#keepsUnmarked) {
      this.#span.letGo();
    } else if (member.isKept) {
      const value = this.#span.end(chunk, end);
      member.value = value ?? undefined;
      this.#count(member, value?.length ?? 0);
    }
    this.#member = null;
    this.#counted = null;
  }

  /** Called at the end of a chunk. Copies what is still needed of it. */
  carry(chunk: Buffer): void {
    this.#span.carry(chunk);
    this.located?.carry(chunk.length);
  }

  /** Drops an incomplete value. Called if the text is no JSON. */
  letGo(): void {
    this.#span.letGo();
  }
}

/** Finds the name of the key `bytes[start, end)`, which may contain escapes. */
function findKey(
  captured: readonly CapturedMember[],
  bytes: Buffer,
  start: number,
  end: number,
): CapturedMember | null {
  let isPlain = true;
  for (let at = start; at < end; at++) if (bytes[at] === BACKSLASH || bytes[at]! >= 0x80) isPlain = false;
  const key = isPlain ? null : decodeString(bytes, start, end);
  for (const member of captured) {
    const { name } = member;
    if (key === null ? name.length === end - start && hasBytes(name, bytes, start, end) : name === key) return member;
  }
  return null;
}
