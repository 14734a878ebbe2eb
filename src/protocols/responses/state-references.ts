import { type JsonReader, MemberNames } from '../../lib/json/json-reader.ts';
import { readReferences, type StateReference, type StateReferences } from '../state-references.ts';

/** The members of a responses or compact request that refer to state, or contain items and tools that do. */
const REQUEST = new MemberNames('previous_response_id', 'conversation', 'prompt', 'input', 'tools');
const WITH_ID = new MemberNames('id');
const TOOL = new MemberNames('vector_store_ids', 'container', 'environment', 'input_image_mask', 'file_ids');
const PLACE = new MemberNames('container_id', 'file_id', 'file_ids');

/** What an item without a type consists of beside its id. One that has none of these stands for one that the provider keeps. */
const CONTENT = [
  'content',
  'encrypted_content',
  'result',
  'results',
  'arguments',
  'input',
  'output',
  'outputs',
  'action',
  'queries',
  'tools',
  'summary',
  'code',
  'name',
  'operation',
  'approval_request_id',
  'call_id',
] as const;
const ITEM = new MemberNames('type', 'id', 'container_id', 'environment', 'file_id', ...CONTENT);

/**
 * Items that the vendor looks up by their id unless they bring one of these members. Items of other types are complete
 * as they stand.
 */
const CONTENT_OF_TYPE: ReadonlyMap<string, readonly string[]> = new Map([
  ['item_reference', []],
  ['message', ['content']],
  ['reasoning', ['content', 'encrypted_content']],
  ['compaction', ['encrypted_content']],
  ['image_generation_call', ['result']],
]);

const TYPE_BYTES_MAX = 256;

/** The references of a responses or compact request, in the order of the text. */
export function readResponsesReferences(body: Buffer): readonly StateReference[] {
  return readReferences(body, (reader, references) => {
    reader.members(REQUEST, (name) => {
      switch (name) {
        case 'previous_response_id':
          references.readId(reader, 'response', name);
          break;
        case 'conversation':
        case 'prompt':
          if (reader.kind === 'object') reader.members(WITH_ID, () => references.readId(reader, name, `${name}.id`));
          else references.readId(reader, name, name);
          break;
        case 'input':
          reader.items((index) => readItem(reader, references, `input[${index}]`));
          break;
        case 'tools':
          reader.items((index) => readTool(reader, references, `tools[${index}]`));
          break;
      }
    });
  });
}

function readItem(reader: JsonReader, references: StateReferences, path: string): void {
  let type: string | null = null;
  let idStart = -1;
  const content = new Set<string>();
  reader.members(ITEM, (name) => {
    switch (name) {
      case 'type':
        type = reader.text(TYPE_BYTES_MAX);
        return;
      case 'id':
        if (reader.kind !== 'null') idStart = reader.offset;
        return;
      case 'container_id':
        references.readId(reader, 'container', `${path}.container_id`);
        return;
      case 'file_id':
        references.readId(reader, 'file', `${path}.file_id`);
        return;
      case 'environment':
        readPlace(reader, references, `${path}.environment`);
        return;
    }
    if (reader.kind !== 'null' && !reader.isEmptyValue) content.add(name);
    if (name === 'content' || name === 'output') readBlocks(reader, references, `${path}.${name}`);
  });
  if (idStart === -1) return;
  const needed = type === null ? CONTENT : CONTENT_OF_TYPE.get(type);
  if (needed === undefined || needed.some((name) => content.has(name))) return;
  references.readId(reader.from(idStart), 'item', `${path}.id`);
}

/** Content blocks, or a screenshot that stands without an array around it. */
function readBlocks(reader: JsonReader, references: StateReferences, path: string): void {
  if (reader.kind === 'object') readPlace(reader, references, path);
  else reader.items((index) => readPlace(reader, references, `${path}[${index}]`));
}

function readTool(reader: JsonReader, references: StateReferences, path: string): void {
  reader.members(TOOL, (name) => {
    const at = `${path}.${name}`;
    if (name === 'vector_store_ids') references.readIds(reader, 'vector_store', at);
    else if (name === 'file_ids') references.readIds(reader, 'file', at);
    else if (name === 'container' && reader.kind === 'string') references.readId(reader, 'container', at);
    else readPlace(reader, references, at);
  });
}

/** An object that names a container or files: a content block, a tool's container or environment, a mask. */
function readPlace(reader: JsonReader, references: StateReferences, path: string): void {
  reader.members(PLACE, (name) => {
    const at = `${path}.${name}`;
    if (name === 'file_ids') references.readIds(reader, 'file', at);
    else references.readId(reader, name === 'file_id' ? 'file' : 'container', at);
  });
}
