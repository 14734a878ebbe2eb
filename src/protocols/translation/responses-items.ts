import type { AnswerHead, EndReason } from './answer.ts';
import type { AnswerTerms } from './answer-terms.ts';
import type { CollectedBlock } from './collected-answer.ts';
import type { RawJson, RawText } from './conversation.ts';
import type { ToolNames } from './names.ts';
import { responsesUsage, type ShownUsage } from './shown-usage.ts';
import { argumentsObject } from './write-messages-answer.ts';
import { WrittenObject } from './written-object.ts';

/** An item of `output`: its type, and the beginning of its id. */
const PREFIXES = {
  message: 'msg',
  reasoning: 'rs',
  function_call: 'fc',
  custom_tool_call: 'ctc',
  local_shell_call: 'lsh',
  tool_search_call: 'tsc',
} as const;
export type ItemType = keyof typeof PREFIXES;

export interface Item {
  readonly type: ItemType;
  readonly id: string;
}

const CALL_TYPES = {
  function: 'function_call',
  custom: 'custom_tool_call',
  shell: 'local_shell_call',
  search: 'tool_search_call',
} as const;

export function itemOf(
  block: Pick<CollectedBlock, 'kind' | 'call'>,
  index: number,
  responseId: string,
  names: ToolNames,
): Item {
  const type = typeOf(block, names);
  return { type, id: `${PREFIXES[type]}_${responseId.replace(RESPONSE_PREFIX, '')}_${index}` };
}

const RESPONSE_PREFIX = /^resp_/;

function typeOf({ kind, call }: Pick<CollectedBlock, 'kind' | 'call'>, names: ToolNames): ItemType {
  if (kind === 'reasoning') return 'reasoning';
  if (kind !== 'call') return 'message';
  return CALL_TYPES[names.find(call!.name)?.form ?? 'function'];
}

interface WholeItem {
  readonly block: Pick<CollectedBlock, 'kind' | 'call' | 'text'>;
  /** Only of reasoning: the carrier, and whether the client reads the text. */
  readonly carrier: string | null;
  readonly isShown: boolean;
  readonly status: 'in_progress' | 'completed' | 'incomplete';
}

/** Writes an item; one that is in progress has no content yet. */
export function writeItem(
  { type, id }: Item,
  { block, carrier, isShown, status }: WholeItem,
  names: ToolNames,
): RawJson {
  const { kind, call, text } = block;
  const isNew = status === 'in_progress';
  const item = new WrittenObject();
  item.add('id', JSON.stringify(id));
  item.add('type', JSON.stringify(type));
  if (type === 'reasoning') {
    item.add('summary', isNew || !isShown || text === '' ? '[]' : `[${summaryPart(text)}]`);
    item.add('encrypted_content', carrier === null ? null : JSON.stringify(carrier));
    return item.toString();
  }
  item.add('status', JSON.stringify(status));
  if (type === 'message') {
    item.add('role', '"assistant"');
    item.add('content', isNew ? '[]' : `[${contentPart(kind === 'refusal', text)}]`);
    return item.toString();
  }
  const tool = names.find(call!.name);
  item.add('call_id', JSON.stringify(call!.id));
  if (type === 'function_call' || type === 'custom_tool_call') {
    item.add('name', JSON.stringify(tool?.name ?? call!.name));
    item.add('namespace', tool?.namespace == null ? null : JSON.stringify(tool.namespace));
    item.add(type === 'function_call' ? 'arguments' : 'input', `"${text}"`);
    return item.toString();
  }
  const args = isNew ? '{}' : argumentsObject(text);
  if (type === 'tool_search_call') item.add('execution', '"client"');
  item.add(type === 'local_shell_call' ? 'action' : 'arguments', args);
  return item.toString();
}

export function contentPart(isRefusal: boolean, text: RawText): RawJson {
  return isRefusal
    ? `{"type":"refusal","refusal":"${text}"}`
    : `{"type":"output_text","text":"${text}","annotations":[],"logprobs":[]}`;
}

export function summaryPart(text: RawText): RawJson {
  return `{"type":"summary_text","text":"${text}"}`;
}

export function responseIdOf({ id }: AnswerHead, { callId }: AnswerTerms): string {
  const own = (id ?? callId).replace(NO_ID, '_');
  return own.startsWith('resp_') ? own : `resp_${own}`;
}

const NO_ID = /[^a-zA-Z0-9_-]/g;

interface WholeResponse {
  readonly id: string;
  readonly output: readonly RawJson[];
  /** `null`: in progress. */
  readonly reason: EndReason | null;
  readonly usage: ShownUsage | null;
}

/** Writes the response object, as it is in events and as a whole response. */
export function writeResponse({ id, output, reason, usage }: WholeResponse, terms: AnswerTerms): RawJson {
  const cause = reason === 'length' ? 'max_output_tokens' : reason === 'filter' ? 'content_filter' : null;
  const response = new WrittenObject();
  response.add('id', JSON.stringify(id));
  response.add('object', '"response"');
  response.add('created_at', String(terms.createdAt));
  response.add('status', JSON.stringify(reason === null ? 'in_progress' : statusOf(reason)));
  response.add('error', 'null');
  response.add('incomplete_details', cause === null ? 'null' : `{"reason":"${cause}"}`);
  response.add('instructions', 'null');
  response.add('metadata', '{}');
  response.add('model', JSON.stringify(terms.model));
  response.add('output', `[${output.join(',')}]`);
  response.add('parallel_tool_calls', 'true');
  response.add('previous_response_id', 'null');
  response.add('store', 'false');
  response.add('temperature', 'null');
  response.add('tool_choice', '"auto"');
  response.add('tools', '[]');
  response.add('top_p', 'null');
  response.add('usage', usage === null ? 'null' : responsesUsage(usage));
  return response.toString();
}

export function statusOf(reason: EndReason): 'completed' | 'incomplete' {
  return reason === 'length' || reason === 'filter' ? 'incomplete' : 'completed';
}
