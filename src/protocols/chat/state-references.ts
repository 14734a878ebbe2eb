import { MemberNames } from '../../lib/json/json-reader.ts';
import { readReferences, type StateReference } from '../state-references.ts';

const REQUEST = new MemberNames('messages');
const MESSAGE = new MemberNames('content', 'audio');
const AUDIO = new MemberNames('id');
const BLOCK = new MemberNames('file_id', 'file');
const FILE = new MemberNames('file_id');

/** The references of a chat request, in the order of the text. */
export function readChatReferences(body: Buffer): readonly StateReference[] {
  return readReferences(body, (reader, references) => {
    function readBlock(path: string): void {
      reader.members(BLOCK, (name) => {
        if (name === 'file_id') references.readId(reader, 'file', `${path}.file_id`);
        else reader.members(FILE, () => references.readId(reader, 'file', `${path}.file.file_id`));
      });
    }
    reader.members(REQUEST, () => {
      reader.items((index) => {
        const path = `messages[${index}]`;
        reader.members(MESSAGE, (name) => {
          if (name === 'audio') reader.members(AUDIO, () => references.readId(reader, 'audio', `${path}.audio.id`));
          else if (reader.kind === 'object') readBlock(`${path}.content`);
          else reader.items((block) => readBlock(`${path}.content[${block}]`));
        });
      });
    });
  });
}
