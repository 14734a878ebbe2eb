import type { RequestTable } from '../request-reader.ts';
import { LINK, listOf, open, openMembers, type Rule, state, stateOrObject } from '../request-rules.ts';
import { skill } from '../skills.ts';
import { BLOCK_MEMBERS, MEDIA, STORED_PROMPT, topMembers } from '../top-members.ts';

const BLOCK = openMembers({ ...BLOCK_MEMBERS, source: { ...MEDIA, text: 'link' } });

const CONTENT: Rule = { text: 'prose', items: { text: 'prose', members: BLOCK }, members: BLOCK };

/** Predefined voices are strings; an object with an id is a voice in the operator's account. */
const VOICE: Rule = { text: 'setting', members: openMembers({ id: state('profile') }) };

const MESSAGE = openMembers({
  content: CONTENT,
  audio: stateOrObject('audio'),
  tools: 'tools',
  tool_calls: 'content',
  function_call: 'content',
  refusal: 'content',
  annotations: 'content',
  reasoning: 'content',
  reasoning_content: 'content',
  reasoning_details: 'content',
});

/** Top-level members that only this protocol has. */
const CONTENT_AT_TOP = [
  ...['frequency_penalty', 'function_call', 'functions', 'logit_bias', 'logprobs', 'max_completion_tokens'],
  ...['max_tokens', 'modalities', 'moderation', 'n', 'parallel_tool_calls', 'prediction', 'presence_penalty'],
  ...['prompt_cache_retention', 'reasoning_effort', 'response_format', 'seed', 'stop', 'store', 'top_logprobs'],
  ...['verbosity', 'web_search_options'],
];

export const CHAT_TABLE: RequestTable = {
  top: topMembers(CONTENT_AT_TOP, {
    messages: listOf({ members: MESSAGE }),
    prompt: STORED_PROMPT,
    image_url: LINK,
    audio: open({ voice: VOICE }),
  }),
  readBy: { skill },
};
