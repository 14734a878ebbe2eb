import { isRecord } from '../lib/json.ts';
import { hideKeys } from '../providers/upstream/secrets.ts';

/** What the change log keeps of a value: JSON without secrets, of a bounded size. */
export type Recorded = string | number | boolean | null | readonly Recorded[] | { readonly [name: string]: Recorded };

/** What a value may take in the log, about. */
const SIZE_CHARS_MAX = 8_000;
const TEXT_CHARS_MAX = 1_000;
const ITEMS_MAX = 20;
const DEPTH_MAX = 8;
/** Stands where something was left out because it is too large. */
const CUT = '…';

/** Answers and bodies have secrets in members of these names, alone or behind other words: `key`, `apiKey`, `x-api-key`, `codes`. */
const SECRET_NAME = /^(?:(?:.*[_-])?(?:key|token|secret|password)|link|code|credential|authorization|cookie|hash)s?$/i;
const SECRET_LAST_WORD = /(?<=[a-z\d])(?:Key|Token|Secret|Link|Code|Password|Credential|Hash)s?$/;
/** An address, of which only the origin is kept: a path may be as good as a password. */
const ADDRESS = /\b([a-z][a-z\d+.-]{1,20}:\/\/)(?:[^\s/?#"'<>]*@)?([^\s/?#"'<>]+)([/?#][^\s"'<>]*)?/gi;

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
    for (const item of value) {
      if (this.#left <= 0 || kept.length === ITEMS_MAX) {
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
    .replace(ADDRESS, (_all, scheme: string, host: string, rest: string | undefined) =>
      rest === undefined ? scheme + host : `${scheme}${host}/${CUT}`,
    )
    .replaceAll('\u0000', '')
    .toWellFormed();
  return value.length > TEXT_CHARS_MAX ? stored + CUT : stored;
}
