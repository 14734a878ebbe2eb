import type { Block, Conversation, RawText } from './conversation.ts';
import { fromRawText } from './raw-text.ts';

/** Size in UTF-8 of the text that the model certainly reads: without media, reasoning, and the structure of the body. */
export function textBytesOf({ system, tools, turns }: Conversation): number {
  let sizeBytes = 0;
  for (const { text } of system) sizeBytes += rawBytes(text);
  for (const { name, description, schema } of tools) {
    sizeBytes += name.length + rawBytes(description ?? '') + Buffer.byteLength(schema ?? '');
  }
  for (const { blocks } of turns) for (const block of blocks) sizeBytes += blockBytes(block);
  return sizeBytes;
}

function blockBytes(block: Block): number {
  switch (block.kind) {
    case 'text':
    case 'refusal':
      return rawBytes(block.text);
    case 'call':
      return block.name.length + Buffer.byteLength(block.input);
    case 'result':
      return block.content.reduce((sum, each) => sum + (each.kind === 'text' ? rawBytes(each.text) : 0), 0);
    default:
      return 0;
  }
}

function rawBytes(text: RawText): number {
  return Buffer.byteLength(fromRawText(text));
}
