import type { MediaBlock, RawJson, TextBlock } from './conversation.ts';
import { quoted } from './raw-text.ts';
import { WrittenObject } from './written-object.ts';

/** Writes a text, an image or a document as a block of a messages request. */
export function writeBlock(block: TextBlock | MediaBlock): string {
  const written = new WrittenObject();
  if (block.kind === 'text') {
    written.add('type', '"text"');
    written.add('text', `"${block.text}"`);
  } else {
    written.add('type', block.type === 'image' ? '"image"' : '"document"');
    written.add('source', writeSource(block));
    written.add('title', block.type === 'pdf' && block.name !== null ? `"${block.name}"` : null);
  }
  written.add('cache_control', block.cache);
  return written.toString();
}

function writeSource({ source }: MediaBlock): RawJson {
  if ('url' in source) return `{"type":"url","url":${quoted(source.url)}}`;
  return `{"type":"base64","media_type":${JSON.stringify(source.mediaType)},"data":${quoted(source.base64)}}`;
}
