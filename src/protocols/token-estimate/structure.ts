import { isRecord } from '../../lib/json/json.ts';

interface StructureSink {
  /** A stretch of compact JSON. Long structures come in several. */
  readonly write: (json: string) => void;
  /** Whether a string or an object, found under `key`, has been counted in another way; `""` then stands for it. */
  readonly takes: (value: string | Record<string, unknown>, key: string) => boolean;
}

/** A stretch is passed on from this length on, so that memory does not grow with the structure. */
const STRETCH_CHARS = 2 ** 20;

interface Level {
  readonly values: readonly unknown[];
  /** The keys of an object, side by side with its values; `null` in an array. */
  readonly keys: readonly string[] | null;
  /** The key under which it stands, which its own items share if it is an array. */
  readonly key: string;
  next: number;
}

/**
 * Writes a parsed JSON value as compact JSON: the visible structure of a field whose meaning is not known here. It
 * keeps its own stack, so it works for any depth. With `rootKey` it writes a member, `"key":value`.
 */
export function writeStructure(root: unknown, rootKey: string | null, { write, takes }: StructureSink): void {
  const levels: Level[] = [];
  let stretch = rootKey === null ? '' : `${JSON.stringify(rootKey)}:`;

  function enter(value: unknown, key: string): void {
    if ((typeof value === 'string' || isRecord(value)) && takes(value, key)) stretch += '""';
    else if (Array.isArray(value)) open({ values: value, keys: null, key, next: 0 });
    else if (isRecord(value)) open({ values: Object.values(value), keys: Object.keys(value), key, next: 0 });
    else stretch += JSON.stringify(value) ?? 'null';
  }

  function open(level: Level): void {
    stretch += level.keys === null ? '[' : '{';
    levels.push(level);
  }

  enter(root, rootKey ?? '');
  for (let level = levels.at(-1); level !== undefined; level = levels.at(-1)) {
    if (stretch.length >= STRETCH_CHARS) {
      write(stretch);
      stretch = '';
    }
    const index = level.next++;
    if (index >= level.values.length) {
      stretch += level.keys === null ? ']' : '}';
      levels.pop();
      continue;
    }
    if (index > 0) stretch += ',';
    const key = level.keys?.[index];
    if (key !== undefined) stretch += `${JSON.stringify(key)}:`;
    enter(level.values[index], key ?? level.key);
  }
  write(stretch);
}
