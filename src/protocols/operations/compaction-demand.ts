import { type JsonReader, MemberNames } from '../../lib/json/json-reader.ts';

const EDIT = new MemberNames('type', 'edits', 'trigger', 'value', 'compact_threshold');
const TYPE_BYTES_MAX = 64;

/**
 * The length of the input above which `context_management` asks a provider to summarize it; 0 if it does not say, `null`
 * where it asks for no summary. The value that comes next is one edit of the context, a list of them, or an object that has
 * such a list.
 */
export function readCompaction(reader: JsonReader): number | null {
  if (reader.kind === 'array') {
    let least: number | null = null;
    reader.items(() => {
      least = lesser(least, readCompaction(reader));
    });
    return least;
  }
  if (reader.kind !== 'object') return null;
  let isCompaction = false;
  let aboveTokens = 0;
  let listed: number | null = null;
  const read = (): void =>
    reader.eachMember((start, end) => {
      switch (EDIT.names[EDIT.find(reader.bytes, start, end)]) {
        case 'type':
          isCompaction ||= reader.kind === 'string' && reader.text(TYPE_BYTES_MAX)?.startsWith('compact') === true;
          break;
        case 'edits':
          listed = lesser(listed, readCompaction(reader));
          break;
        case 'trigger':
          if (reader.kind === 'object') read();
          break;
        case 'value':
        case 'compact_threshold':
          aboveTokens = readTokens(reader);
          break;
        default:
      }
    });
  read();
  return isCompaction ? lesser(listed, aboveTokens) : listed;
}

function readTokens(reader: JsonReader): number {
  if (reader.kind !== 'number') return 0;
  const { offset } = reader;
  reader.skip();
  return Math.max(0, Math.floor(Number(reader.bytes.toString('latin1', offset, reader.offset))));
}

function lesser(left: number | null, right: number | null): number | null {
  return left === null || right === null ? (left ?? right) : Math.min(left, right);
}
