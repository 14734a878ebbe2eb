import { ByteSpan } from '../byte-span.ts';
import { decodeString, hasBytes } from './json-string.ts';
import type { MemberNames } from './member-names.ts';

const OPEN_BRACKET = 0x5b;
const BACKSLASH = 0x5c;

interface KeptMembers {
  readonly keep: readonly string[];
  readonly keepMarked?: MarkedMember | undefined;
  readonly count?: readonly string[];
  readonly keptBytesMax: number;
}

/**
 * A member that is marked if it contains a mark: a member of an object at any depth, with a name in `marks` and a string or a non-empty
 * array or object as value.
 */
export interface MarkedMember {
  readonly name: string;
  /** `null`: the member is never marked. */
  readonly marks: MemberNames | null;
  /** Whether the member is also kept if it is not marked. The size limit is the same. */
  readonly isKeptUnmarked?: boolean;
}

/** Maximum size of a member that only `keepMarked` requests. Its bytes do not count towards `keptBytesMax`. */
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
 * Keeps and counts the requested members of the outermost object. `JsonCapture` reports the offsets, in the current chunk, at which keys,
 * values and items begin and end.
 */
export class CapturedMembers {
  readonly #asked: CapturedMember[] = [];
  /** The longest spelling of a requested name, with `\uXXXX` for each UTF-16 unit. */
  #keyBytesMax = 0;
  readonly #keptBytesMax: number;
  #keptBytes = 0;
  #markedBytes = 0;
  /** The member that only `keepMarked` requests. */
  #onlyMarked: CapturedMember | null = null;
  #keepsUnmarked = false;

  /** The current member, if it was requested. */
  #member: CapturedMember | null = null;
  /** The current member, if it is an array whose items are counted. */
  #counted: CapturedMember | null = null;
  /** The current key or value of the outermost object. */
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

  /** Call this when a mark is found in the current member. */
  marked(): void {
    this.#member!.isMarked = true;
  }

  /** `at`: the offset of the opening quote. */
  keyBegins(at: number): void {
    this.#span.begin(at + 1, this.#keyBytesMax);
  }

  /** The key is `chunk[start, end)`. `start` is negative if the key began in an earlier chunk. */
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

  /** `byte`: the first byte of the value. The value replaces that of an earlier member with the same name. */
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

  /** Drops the value of the member that only `keepMarked` requests, and stops keeping it. */
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

  /** Copies what is still needed of a chunk. Call this at its end. */
  carry(chunk: Buffer): void {
    this.#span.carry(chunk);
  }

  /** Drops the incomplete value. Call this when the text is not JSON. */
  letGo(): void {
    this.#span.letGo();
  }
}

/** `bytes[start, end)` is the key, which may contain escapes. */
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
