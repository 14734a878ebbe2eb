import type { RequestTable } from '../request-reader.ts';
import { listOf, Members, open, openMembers, type Rule, state } from '../request-rules.ts';
import { skill } from '../skills.ts';
import { BLOCK_MEMBERS, MEDIA_PLACES, STORED_PROMPT, topMembers } from '../top-members.ts';

/** Blocks in messages, in tool results, and in documents that consist of blocks. */
const BLOCKS: Rule = { text: 'prose', items: { text: 'prose', readBy: 'block' }, readBy: 'block' };

const BLOCK = openMembers({
  ...BLOCK_MEMBERS,
  source: { text: 'setting', members: new Members({ ...MEDIA_PLACES, content: BLOCKS }, 'open') },
  content: BLOCKS,
  // A tool that a message adds, or that a server lists.
  tool: open({ definition: 'tools' }),
  citations: 'content',
  transformations: 'content',
  from: 'content',
  to: 'content',
  trigger: 'content',
});

const CONTENT_AT_TOP = [
  ...['max_tokens', 'billing_policy', 'cache_control', 'compaction', 'context_management', 'fallback_credit_token'],
  ...['fallbacks', 'inference_geo', 'output_config', 'output_format', 'speed', 'stop_sequences', 'thinking', 'betas'],
  'top_k',
];

export const MESSAGES_TABLE: RequestTable = {
  top: topMembers(CONTENT_AT_TOP, {
    messages: listOf({ members: openMembers({ content: BLOCKS, output_config: 'content' }) }),
    system: BLOCKS,
    prompt: STORED_PROMPT,
    user_profile_id: state('profile'),
    workspace_id: state('profile'),
  }),
  readBy: { skill, block: { members: BLOCK } },
};
