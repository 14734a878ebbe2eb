import { JsonReader } from './json-reader.ts';
import { decodeString } from './json-string.ts';

/** Maximum length of a key in a path, in characters. The next constant is the maximum size of a shown key in bytes. */
const KEY_CHARACTERS_MAX = 80;
const KEY_BYTES_MAX = 512;

/**
 * Returns paths, such as `tools[0].model`, of the values at these offsets, for error messages, in one pass.
 * @param start offset of the text, which must be valid JSON
 */
export function pathsOf(bytes: Buffer, start: number, offsets: readonly number[]): ReadonlyMap<number, string> {
  const wanted = new Set(offsets);
  const paths = new Map<number, string>();
  const reader = new JsonReader(bytes, start);
  /** For each open container: the index of the current item, or the offsets of the current key. */
  const open: (readonly [number, number] | number)[] = [];

  function text(): string {
    let path = '';
    for (const step of open) {
      if (typeof step === 'number') path += `[${step}]`;
      else path += `${path === '' ? '' : '.'}${keyText(bytes, ...step)}`;
    }
    return path;
  }

  function read(): void {
    if (wanted.has(reader.offset)) paths.set(reader.offset, text());
    if (paths.size === wanted.size) return;
    const { kind } = reader;
    const depth = open.length;
    if (kind === 'array') {
      reader.enter();
      for (let index = 0; reader.nextItem(); index++) {
        open[depth] = index;
        read();
      }
    } else if (kind === 'object') {
      for (reader.enter(); reader.nextMember(); ) {
        open[depth] = [reader.keyStart, reader.keyEnd];
        read();
      }
    }
    open.length = depth;
  }

  read();
  return paths;
}

function keyText(bytes: Buffer, start: number, end: number): string {
  if (end - start > KEY_BYTES_MAX) return '…';
  const key = decodeString(bytes, start, end);
  return key.length > KEY_CHARACTERS_MAX ? `${key.slice(0, KEY_CHARACTERS_MAX)}…` : key;
}
