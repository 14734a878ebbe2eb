import type { Reads } from '../content-demand.ts';
import type { RequestReader, RequestTable } from '../request-reader.ts';
import { open, openMembers, type Rule, state, stateOrObject } from '../request-rules.ts';
import { skill } from '../skills.ts';
import { ENVIRONMENT } from '../tools.ts';
import { BLOCK_MEMBERS, MEDIA, topMembers } from '../top-members.ts';

const BLOCK = openMembers({
  ...BLOCK_MEMBERS,
  container_id: state('container'),
  file_data: MEDIA,
  annotations: 'content',
  logprobs: 'content',
});
/** Content blocks in an array, or a screenshot, which is an object without an array. */
const BLOCKS: Rule = { text: 'prose', items: { text: 'prose', members: BLOCK }, members: BLOCK };

const ITEM_RULES = {
  type: 'setting',
  id: 'content',
  status: 'content',
  container_id: state('container'),
  file_id: state('file'),
  // Declared by the contract for items (4.3), but no vendor uses it.
  connector_id: 'content',
  environment: open(ENVIRONMENT),
  content: BLOCKS,
  output: BLOCKS,
  tools: 'tools',
} as const satisfies Readonly<Record<string, Rule>>;

const ITEM_CONTENT = [
  ...['encrypted_content', 'result', 'results', 'arguments', 'input', 'outputs', 'action', 'actions', 'queries'],
  ...['summary', 'code', 'name', 'operation', 'approval_request_id', 'call_id', 'error', 'pending_safety_checks'],
  ...['acknowledged_safety_checks', 'caller', 'reasoning', 'text', 'fingerprint', 'svg_usage'],
];

const ITEM = openMembers({
  ...Object.fromEntries(ITEM_CONTENT.map((name): [string, Rule] => [name, 'content'])),
  ...ITEM_RULES,
});

/** Members with the content of items. An item of unknown type that has none of them refers to an item that the provider stores. */
const CONTENT: readonly string[] = ['content', 'output', 'tools', ...ITEM_CONTENT];

/** For each item type: the vendor looks up the item by its id, unless it has one of these members. */
const LOOKED_UP: Readonly<Record<string, readonly string[]>> = {
  item_reference: [],
  message: ['content'],
  reasoning: ['content', 'encrypted_content'],
  compaction: ['encrypted_content'],
  compaction_summary: ['encrypted_content'],
  image_generation_call: ['result'],
};

/** Types of items that never refer to a stored item. */
const COMPLETE = [
  ...['file_search_call', 'computer_call', 'computer_call_output', 'web_search_call', 'function_call'],
  ...['function_call_output', 'tool_search_call', 'tool_search_output', 'additional_tools', 'configuration_update'],
  ...['code_interpreter_call', 'local_shell_call', 'local_shell_call_output', 'shell_call', 'shell_call_output'],
  ...['apply_patch_call', 'apply_patch_call_output', 'mcp_list_tools', 'mcp_approval_request', 'mcp_call'],
  ...['mcp_approval_response', 'custom_tool_call', 'custom_tool_call_output', 'compaction_trigger', 'program'],
  ...['program_output', 'input_text', 'input_image', 'input_file'],
];

/** For each item type: members of which one makes the item complete. Empty: the vendor always looks up the item. */
export const CONTENT_OF_TYPE: ReadonlyMap<string, readonly string[] | 'complete'> = new Map<
  string,
  readonly string[] | 'complete'
>([...Object.entries(LOOKED_UP), ...COMPLETE.map((type): [string, 'complete'] => [type, 'complete'])]);

const TYPE_BYTES_MAX = 256;

function readItem(reader: RequestReader, reads: Reads): void {
  const { json } = reader;
  let type: string | null = null;
  let idStart = -1;
  const content = new Set<string>();
  reader.members(ITEM, reads, (name) => {
    if (name === 'type') type = json.text(TYPE_BYTES_MAX);
    else if (json.kind === 'null') return;
    else if (name === 'id') idStart = json.offset;
    else if (!json.isEmptyValue) content.add(name);
  });
  if (idStart === -1) return;
  const needed = (type === null ? undefined : CONTENT_OF_TYPE.get(type)) ?? CONTENT;
  if (needed === 'complete' || needed.some((name) => content.has(name))) return;
  reader.references.readId(json.from(idStart), 'item', reader.param('id'));
}

const CONTENT_AT_TOP = [
  ...['access_programs', 'background', 'context_management', 'image', 'include', 'max_output_tokens'],
  ...['max_tool_calls', 'moderation', 'parallel_tool_calls', 'prompt_cache_retention', 'reasoning', 'store', 'text'],
  ...['top_logprobs', 'truncation'],
];

export const RESPONSES_TABLE: RequestTable = {
  top: topMembers(CONTENT_AT_TOP, {
    input: { text: 'prose', items: { text: 'prose', readBy: 'item' }, readBy: 'item' },
    instructions: BLOCKS,
    prompt: stateOrObject('prompt', { variables: open({}) }),
  }),
  readBy: { skill, item: { members: ITEM, read: readItem } },
};
