import { isRecord } from '../lib/json/json.ts';
import { Changed, differenceOf } from './recorded-difference.ts';
import { CUT, toRecordedText } from './recorded-text.ts';

/** JSON for the audit log: without secrets, and of limited size. */
export type Recorded = string | number | boolean | null | readonly Recorded[] | { readonly [name: string]: Recorded };
type RecordedObject = { readonly [name: string]: Recorded };

/** Approximate maximum size of a recorded value. */
const SIZE_CHARS_MAX = 16_000;
/** Maximum number of items of a list, and of a list of plain values, such as networks. */
const ITEMS_MAX = 20;
const PLAIN_ITEMS_MAX = 200;
const DEPTH_MAX = 8;

/** Names of secrets, such as `key`, `apiKey`, `x-api-key`, `codes`. */
const SECRET_NAME = /^(?:(?:.*[_-])?(?:key|token|secret|password)|link|code|credential|authorization|cookie|hash)s?$/i;
const SECRET_LAST_WORD = /(?<=[a-z\d])(?:Key|Token|Secret|Link|Code|Password|Credential|Hash)s?$/;

/** Converts an object to the form in which the audit log records it; `null` if there is none. */
export function toRecorded(value: object | null): RecordedObject | null {
  return record(plain(value));
}

/** Returns the states before and after a change as they are recorded. Long lists are reduced to what was removed and added. */
export function toRecordedPair(
  before: object | null,
  after: object | null,
): readonly [RecordedObject | null, RecordedObject | null] {
  const [old, next] = differenceOf(plain(before), plain(after));
  return [record(old), record(next)];
}

function plain(value: object | null): unknown {
  return JSON.parse(JSON.stringify(value));
}

function record(value: unknown): RecordedObject | null {
  return isRecord(value) ? (keep(value, 0, SIZE_CHARS_MAX).value as RecordedObject) : null;
}

interface Kept {
  readonly value: Recorded;
  readonly size: number;
}

/** An item of a list, or a member of a record. */
interface Part {
  readonly name: string | null;
  readonly value: unknown;
  /** Approximate size of the complete value. */
  readonly size: number;
}

/** Reduces a value. `room`: size that is available for a list or record. */
function keep(value: unknown, depth: number, room: number): Kept {
  const { part, unchanged } = value instanceof Changed ? value : { part: value, unchanged: 0 };
  if (!Array.isArray(part) && !isRecord(part)) {
    const text = typeof part === 'string' ? toRecordedText(part) : (part as number | boolean | null);
    return { value: text, size: String(text).length + 2 };
  }
  if (depth >= DEPTH_MAX) return { value: CUT, size: CUT.length };
  const parts = Array.isArray(part) ? itemsOf(part) : membersOf(part);
  const { kept, size } = keepParts(parts, depth + 1, room);
  const absent = (Array.isArray(part) ? part.length : parts.length) - kept.size;
  const rest = [unchanged > 0 ? `${unchanged} unchanged` : '', absent > 0 ? `${absent} more` : '']
    .filter((each) => each !== '')
    .join(', ');
  // Restores the original order, because space was given by size.
  const own = parts.flatMap((each) => (kept.has(each) ? [{ name: each.name, value: kept.get(each)! }] : []));
  const shown = Array.isArray(part)
    ? [...own.map((each) => each.value), ...(rest === '' ? [] : [`${CUT} ${rest}`])]
    : recordOf([...own, ...(rest === '' ? [] : [{ name: CUT, value: rest }])]);
  return { value: shown, size: size + rest.length + 2 };
}

/** Creates a record. Names that are equal after being hidden or cut get a distinction. */
function recordOf(members: readonly { readonly name: string | null; readonly value: Recorded }[]): RecordedObject {
  const kept = new Map<string, Recorded>();
  for (const { name, value } of members) {
    let shown = toRecordedText(name ?? '');
    while (kept.has(shown)) shown += CUT;
    kept.set(shown, value);
  }
  return Object.fromEntries(kept);
}

function itemsOf(items: readonly unknown[]): Part[] {
  const countMax = items.every(isPlain) ? PLAIN_ITEMS_MAX : ITEMS_MAX;
  const parts = items.map((value) => ({ name: null, value, size: sizeOf(value) }));
  if (parts.length <= countMax) return parts;
  return countMax === ITEMS_MAX ? parts.slice(0, countMax) : bySize(parts).slice(0, countMax);
}

function membersOf(value: Readonly<Record<string, unknown>>): Part[] {
  return Object.entries(value)
    .filter(([name, member]) => !isSecret(name, member))
    .map(([name, member]) => ({ name, value: member, size: name.length + sizeOf(member) }));
}

/**
 * Gives space to the smallest values first, so that one long list does not displace the others. Plain values get half of it; lists and
 * records share the rest equally. A wide network is a short text, so lists of networks keep the wide ones.
 */
function keepParts(parts: readonly Part[], depth: number, room: number) {
  const kept = new Map<Part, Recorded>();
  const [single, wide] = [parts.filter(({ value }) => isPlain(value)), parts.filter(({ value }) => !isPlain(value))];
  let size = 0;
  const add = (part: Part, roomOfPart: number): void => {
    const own = keep(part.value, depth, roomOfPart - (part.name?.length ?? 0) - 4);
    const taken = own.size + (part.name?.length ?? 0) + 4;
    if (taken > roomOfPart) return;
    kept.set(part, own.value);
    size += taken;
  };
  const ofSingle = wide.length === 0 ? room : room / 2;
  for (const part of bySize(single)) add(part, ofSingle - size);
  bySize(wide).forEach((part, i) => {
    add(part, (room - size) / (wide.length - i));
  });
  return { kept, size };
}

function bySize(parts: readonly Part[]): Part[] {
  return parts.toSorted((one, other) => one.size - other.size);
}

function sizeOf(value: unknown): number {
  return JSON.stringify(value instanceof Changed ? value.part : value).length;
}

/** Whether a value is secret by its name. A number never is, for example a token limit. */
function isSecret(name: string, value: unknown): boolean {
  return name !== 'errorCode' && (SECRET_NAME.test(name) || SECRET_LAST_WORD.test(name)) && hasText(value);
}

function hasText(value: unknown): boolean {
  if (value instanceof Changed) return hasText(value.part);
  if (typeof value !== 'object' || value === null) return typeof value === 'string';
  return Object.values(value).some(hasText);
}

function isPlain(value: unknown): boolean {
  return typeof value !== 'object' || value === null;
}
