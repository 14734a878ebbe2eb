import { isRecord } from '../../lib/json/json.ts';

interface StructureSink {
  readonly write: (json: string) => void;
  /** Called for each value. If it returns true, it has counted the value, and `""` is written instead. */
  readonly takes: (value: string | Record<string, unknown>, key: string) => boolean;
}

/** Length from which on a chunk is passed to the sink, so that memory does not grow with the structure. */
const CHUNK_CHARS = 2 ** 20;

interface Level {
  readonly values: readonly unknown[];
  readonly keys: readonly string[] | null;
  /** Key of the value. Items of an array have the array's key. */
  readonly key: string;
  next: number;
}

/** Writes a parsed value as compact JSON; with `rootKey`, as a member `"key":value`. Its depth is not limited. */
export function writeStructure(root: unknown, rootKey: string | null, { write, takes }: StructureSink): void {
  const levels: Level[] = [];
  let chunk = rootKey === null ? '' : `${JSON.stringify(rootKey)}:`;

  function enter(value: unknown, key: string): void {
    if ((typeof value === 'string' || isRecord(value)) && takes(value, key)) chunk += '""';
    else if (Array.isArray(value)) open({ values: value, keys: null, key, next: 0 });
    else if (isRecord(value)) open({ values: Object.values(value), keys: Object.keys(value), key, next: 0 });
    else chunk += JSON.stringify(value) ?? 'null';
  }

  function open(level: Level): void {
    chunk += level.keys === null ? '[' : '{';
    levels.push(level);
  }

  enter(root, rootKey ?? '');
  for (let level = levels.at(-1); level !== undefined; level = levels.at(-1)) {
    if (chunk.length >= CHUNK_CHARS) {
      write(chunk);
      chunk = '';
    }
    const index = level.next++;
    if (index >= level.values.length) {
      chunk += level.keys === null ? ']' : '}';
      levels.pop();
      continue;
    }
    if (index > 0) chunk += ',';
    const key = level.keys?.[index];
    if (key !== undefined) chunk += `${JSON.stringify(key)}:`;
    enter(level.values[index], key ?? level.key);
  }
  write(chunk);
}
