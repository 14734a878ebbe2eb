import { ByteSpan } from '../byte-span.ts';
import { decodeString, hasBytes } from './json-string.ts';
import type { MemberNames } from './member-names.ts';

const OPEN_BRACKET = 0x5b;
const BACKSLASH = 0x5c;

/** What is kept and counted of an object; see `JsonCaptureOptions`. */
interface KeptMembers {
  readonly keep: readonly string[];
  readonly keepMarked?: MarkedMember | undefined;
  readonly count?: readonly string[];
  readonly keptBytesMax: number;
}

/** A member that has a mark if any object in it, at any depth, has one of these members with a text, or with a list or an object that is not empty. */
export interface MarkedMember {
  readonly name: string;
  /** `null`: nothing marks it. */
  readonly marks: MemberNames | null;
  /** Whether it is kept without a mark, too, with the same limit. */
  readonly isKeptUnmarked?: boolean;
}

/** The most that is kept of a marked member, apart from the others. */
export const MARKED_BYTES_MAX = 1024 * 1024;

/** What is known of a member that was asked for. */
interface CapturedMember {
  readonly name: string;
  isKept: boolean;
  readonly isCounted: boolean;
  /** What marks it. */
  marks: MemberNames | null;
  isMarked: boolean;
  value: Buffer | undefined;
  items: number | null;
}

/**
 * The members of the outermost object that were asked for, while their text passes by in chunks: it gets the offsets
 * where keys, values and items begin and end, finds those that matter, and keeps or counts them. Offsets are within the
 * chunk at hand. Memory: at most twice `keptBytesMax`, and `MARKED_BYTES_MAX`.
 */
export class CapturedMembers {
  readonly #asked: CapturedMember[] = [];
  /** No spelling of a name that was asked for is longer: `\uXXXX` is the longest of a UTF-16 unit. */
  #keyBytesMax = 0;
  readonly #keptBytesMax: number;
  #keptBytes = 0;
  /** What is kept because of a mark. */
  #markedBytes = 0;
  /** The member that is kept for its mark, and has a limit of its own. */
  #onlyMarked: CapturedMember | null = null;
  #keepsUnmarked = false;

  /** The member that is being read, if it was asked for. */
  #member: CapturedMember | null = null;
  /** The same, while it is an array whose items are counted. */
  #counted: CapturedMember | null = null;
  /** The key or the value that is being kept: of the outermost object, so never both. */
  readonly #span = new ByteSpan();

  constructor({ keep, keepMarked, count = [], keptBytesMax }: KeptMembers) {
    for (const name of keep) this.#ask(name, true, count.includes(name));
    for (const name of count) if (!keep.includes(name)) this.#ask(name, false, true);
    if (keepMarked !== undefined) {
      const member = this.#askedFor(keepMarked.name) ?? this.#ask(keepMarked.name, false, false);
      member.marks = keepMarked.marks;
      if (!member.isKept) this.#onlyMarked = member;
      this.#keepsUnmarked = keepMarked.isKeptUnmarked ?? false;
      member.isKept = true;
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

  /** The memory of what is kept. */
  get memoryBytes(): number {
    return this.#keptBytes + this.#markedBytes + this.#span.memoryBytes;
  }

  /** The bytes of the last member of this name, once it is whole; `undefined` if it is absent or not kept. */
  value(key: string): Buffer | undefined {
    return this.#askedFor(key)?.value;
  }

  /** Items of the last member of this name, up to now; `null` if it is absent, no array, or not counted. */
  count(key: string): number | null {
    return this.#askedFor(key)?.items ?? null;
  }

  /** Whether the last member of this name has a mark, up to now. */
  isMarked(key: string): boolean {
    return this.#askedFor(key)?.isMarked ?? false;
  }

  /** What marks the member that is being read. */
  get marks(): MemberNames | null {
    return this.#member?.marks ?? null;
  }

  /** There is a mark in the member that is being read. */
  marked(): void {
    this.#member!.isMarked = true;
  }

  /** A key begins, behind its quote at `at`. */
  keyBegins(at: number): void {
    this.#span.begin(at + 1, this.#keyBytesMax);
  }

  /** The key has ended whose text is `chunk[start, end)`, or began in an earlier chunk where `start` is negative. */
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

  /** The value begins, with `byte`, that the last key is of. It replaces what an earlier member of the same name left. */
  valueBegins(byte: number, at: number): void {
    const member = this.#member;
    if (member === null) return;
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

  /** Gives up what is kept because of a mark, and keeps no more of it. */
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

  /** An item begins of the array that the value is. */
  itemBegins(): void {
    if (this.#counted !== null) this.#counted.items!++;
  }

  /** The value has ended, before `end`. */
  valueEnds(chunk: Buffer, end: number): void {
    const member = this.#member;
    if (member === null) return;
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

  /** The chunk is over: what matters of it is copied. */
  carry(chunk: Buffer): void {
    this.#span.carry(chunk);
  }

  /** The text is broken: incomplete values are not kept. */
  letGo(): void {
    this.#span.letGo();
  }
}

/** Which of those asked for has the key `bytes[start, end)`, whose escapes stand as they came. */
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
