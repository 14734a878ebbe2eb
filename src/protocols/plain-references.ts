import type { RequestTable } from './request-reader.ts';
import { openMembers, type Rule } from './request-rules.ts';
import { skill } from './skills.ts';
import { BLOCK_MEMBERS, MEDIA, STORED_PROMPT, topMembers } from './top-members.ts';

const CONTENT_AT_TOP = ['output_format', 'response_format'];

/** Inputs as content blocks, because some embedding models accept images. */
const BLOCKS: Rule = { text: 'setting', items: { text: 'setting', readBy: 'block' }, readBy: 'block' };

/** A content block. DashScope names its content `contents`. */
const BLOCK = openMembers({ ...BLOCK_MEMBERS, content: BLOCKS, contents: BLOCKS });

const PICTURES = {
  image: MEDIA,
  images: MEDIA,
  image_url: MEDIA,
  image_urls: MEDIA,
  reference_images: MEDIA,
  mask: MEDIA,
};

/** Members with content. Voyage and Cohere use `inputs`. */
const CONTENT = { input: BLOCKS, inputs: BLOCKS, query: BLOCKS, documents: BLOCKS, prompt: STORED_PROMPT };

export const PLAIN_TABLE: RequestTable = {
  top: topMembers(CONTENT_AT_TOP, { ...PICTURES, ...CONTENT }),
  readBy: { skill, block: { members: BLOCK } },
};
