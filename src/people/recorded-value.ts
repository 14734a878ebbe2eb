import { isRecord } from '../lib/json.ts';
import { hideKeys } from '../providers/upstream/secrets.ts';

/** What the change log keeps of a value: JSON without secrets, of a bounded size. */
export type Recorded = string | number | boolean | null | readonly Recorded[] | { readonly [name: string]: Recorded };

/** What a value may take in the log, about. */
const SIZE_CHARS_MAX = 16_000;
const TEXT_CHARS_MAX = 1_000;
/** Items of a list; of one that has nothing but words and numbers, such as networks, as many as anything may have. */
const ITEMS_MAX = 20;
const PLAIN_ITEMS_MAX = 200;
const DEPTH_MAX = 8;
/** Stands where something was left out because it is too large. */
const CUT = '…';

/** Answers and bodies have secrets in members of these names, alone or behind other words: `key`, `apiKey`, `x-api-key`, `codes`. */
const SECRET_NAME = /^(?:(?:.*[_-])?(?:key|token|secret|password)|link|code|credential|authorization|cookie|hash)s?$/i;
const SECRET_LAST_WORD = /(?<=[a-z\d])(?:Key|Token|Secret|Link|Code|Password|Credential|Hash)s?$/;
/** An address up to the next space, of which only the origin is kept: a path may be as good as a password. */
const ADDRESS = /\b([a-z][a-z\d+.-]{1,20}:\/\/)\S*/gi;

/** The value as the log keeps it; `null` where it is no object. */
export function toRecorded(value: object | null): { readonly [name: string]: Recorded } | null {
  if (value === null) return null;
  const plain: unknown = JSON.parse(JSON.stringify(value));
  return isRecord(plain) ? new Recording().members(plain, 0) : null;
}

class Recording {
  #left = SIZE_CHARS_MAX;

  members(value: Record<string, unknown>, depth: number): { readonly [name: string]: Recorded } {
    const kept: Record<string, Recorded> = {};
    for (const [name, member] of Object.entries(value)) {
      if (isSecret(name, member)) continue;
      if (this.#left <= 0) {
        kept[CUT] = 'the rest is too large';
        break;
      }
      this.#left -= name.length + 4;
      kept[text(name)] = this.#value(member, depth + 1);
    }
    return kept;
  }

  #value(value: unknown, depth: number): Recorded {
    if (Array.isArray(value)) return this.#items(value, depth);
    if (isRecord(value)) return depth >= DEPTH_MAX ? CUT : this.members(value, depth);
    const kept = typeof value === 'string' ? text(value) : (value as number | boolean | null);
    this.#left -= String(kept).length + 2;
    return kept;
  }

  #items(value: readonly unknown[], depth: number): Recorded {
    if (depth >= DEPTH_MAX) return CUT;
    const kept: Recorded[] = [];
    const itemsMax = value.every(isPlain) ? PLAIN_ITEMS_MAX : ITEMS_MAX;
    for (const item of value) {
      if (this.#left <= 0 || kept.length === itemsMax) {
        kept.push(`${CUT} ${value.length - kept.length} more`);
        break;
      }
      kept.push(this.#value(item, depth + 1));
    }
    return kept;
  }
}

/** Counts are none, whatever they are called. */
function isSecret(name: string, value: unknown): boolean {
  const isCount = typeof value === 'number' || typeof value === 'boolean' || value === null;
  return !isCount && name !== 'errorCode' && (SECRET_NAME.test(name) || SECRET_LAST_WORD.test(name));
}

/** A text that the database can store, without keys that somebody may have written into it. */
function text(value: string): string {
  const stored = hideKeys(value.slice(0, TEXT_CHARS_MAX))
    .replace(ADDRESS, originOf)
    .replaceAll('\u0000', '')
    .toWellFormed();
  return value.length > TEXT_CHARS_MAX ? stored + CUT : stored;
}

function originOf(address: string, scheme: string): string {
  if (!URL.canParse(address)) return scheme + CUT;
  const { host, pathname, search, hash } = new URL(address);
  const isOriginAlone = (pathname === '/' || pathname === '') && search === '' && hash === '';
  return isOriginAlone ? scheme + host : `${scheme}${host}/${CUT}`;
}

function isPlain(value: unknown): boolean {
  return typeof value !== 'object' || value === null;
}

/**
 * A subject before and after a change, with each long list as what the change made of it: before what it took away, after what it
 * added. So what matters is there whatever else such a list has.
 */
export function withListDifferences(before: object | null, after: object | null): [object | null, object | null] {
  const old: unknown = JSON.parse(JSON.stringify(before));
  const next: unknown = JSON.parse(JSON.stringify(after));
  if (isRecord(old) && isRecord(next)) shorten(old, next);
  return [old as object | null, next as object | null];
}

/** Shortens the lists in both values. */
function shorten(old: Record<string, unknown>, next: Record<string, unknown>): void {
  for (const [name, was] of Object.entries(old)) {
    const is = Object.hasOwn(next, name) ? next[name] : undefined;
    if (isRecord(was) && isRecord(is)) shorten(was, is);
    if (!Array.isArray(was) || !Array.isArray(is) || was.length + is.length <= ITEMS_MAX) continue;
    old[name] = without(was, is);
    next[name] = without(is, was);
  }
}

function without(items: readonly unknown[], others: readonly unknown[]): unknown[] {
  const known = new Set(others.map((item) => JSON.stringify(item)));
  const own = items.filter((item) => !known.has(JSON.stringify(item)));
  const unchanged = items.length - own.length;
  return unchanged === 0 ? own : [...own, `${CUT} ${unchanged} unchanged`];
}
