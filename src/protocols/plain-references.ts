import { type NamedState, type RequestTable, readNamedState } from './request-reader.ts';
import { skill } from './skills.ts';
import { MEDIA, topMembers } from './top-members.ts';

/** What a model reads, in requests that are no conversation. */
const CONTENT_AT_TOP = ['input', 'prompt', 'query', 'documents', 'output_format', 'response_format'];

const PICTURES = {
  image: MEDIA,
  images: MEDIA,
  image_url: MEDIA,
  image_urls: MEDIA,
  reference_images: MEDIA,
  mask: MEDIA,
};

export const PLAIN_TABLE: RequestTable = { top: topMembers(CONTENT_AT_TOP, PICTURES), readBy: { skill } };

/** What a request for embeddings, a ranking or pictures names at its provider. */
export function readPlainReferences(body: Buffer): NamedState {
  return readNamedState(body, PLAIN_TABLE);
}
