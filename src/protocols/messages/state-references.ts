import { type JsonReader, MemberNames } from '../../lib/json/json-reader.ts';
import { readReferences, type StateReference, type StateReferences } from '../state-references.ts';

const REQUEST = new MemberNames('container', 'messages', 'system');
const CONTAINER = new MemberNames('id', 'skills');
const SKILL = new MemberNames('type', 'skill_id');
const MESSAGE = new MemberNames('content');
const BLOCK = new MemberNames('file_id', 'source', 'content');
const SOURCE = new MemberNames('file_id', 'content');

/** Skills of this type are the vendor's own; any other belongs to an account. */
const VENDOR_SKILL = 'anthropic';
const TYPE_BYTES_MAX = 256;

/** Blocks stand in messages, in results of tools, and in documents that consist of blocks. */
const BLOCK_DEPTH_MAX = 8;

/** The references of a messages request, in the order of the text. */
export function readMessagesReferences(body: Buffer): readonly StateReference[] {
  return readReferences(body, (reader, references) => {
    reader.members(REQUEST, (name) => {
      if (name === 'container') readContainer(reader, references);
      else if (name === 'system') readBlocks(reader, references, name, 0);
      else {
        reader.items((index) => {
          const path = `messages[${index}].content`;
          reader.members(MESSAGE, () => readBlocks(reader, references, path, 0));
        });
      }
    });
  });
}

function readContainer(reader: JsonReader, references: StateReferences): void {
  if (reader.kind !== 'object') {
    references.readId(reader, 'container', 'container');
    return;
  }
  reader.members(CONTAINER, (name) => {
    if (name === 'id') references.readId(reader, 'container', 'container.id');
    else reader.items((index) => readSkill(reader, references, `container.skills[${index}]`));
  });
}

function readSkill(reader: JsonReader, references: StateReferences, path: string): void {
  let type: string | null = null;
  let idStart = -1;
  reader.members(SKILL, (name) => {
    if (name === 'type') type = reader.text(TYPE_BYTES_MAX);
    else idStart = reader.offset;
  });
  if (type !== VENDOR_SKILL && idStart !== -1) references.readId(reader.from(idStart), 'skill', `${path}.skill_id`);
}

function readBlocks(reader: JsonReader, references: StateReferences, path: string, depth: number): void {
  if (depth === BLOCK_DEPTH_MAX) return;
  const read = (at: string): void =>
    reader.members(BLOCK, (name) => {
      if (name === 'file_id') references.readId(reader, 'file', `${at}.file_id`);
      else if (name === 'content') readBlocks(reader, references, `${at}.content`, depth + 1);
      else readSource(reader, references, `${at}.source`, depth + 1);
    });
  if (reader.kind === 'object') read(path);
  else reader.items((index) => read(`${path}[${index}]`));
}

function readSource(reader: JsonReader, references: StateReferences, path: string, depth: number): void {
  reader.members(SOURCE, (name) => {
    if (name === 'file_id') references.readId(reader, 'file', `${path}.file_id`);
    else readBlocks(reader, references, `${path}.content`, depth);
  });
}
