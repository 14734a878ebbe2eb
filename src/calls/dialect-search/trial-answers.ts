import type { DialectConfig } from '../../config/dialect-schema.ts';
import { isRecord, parseJson } from '../../lib/json/json.ts';
import type { ProviderFormName } from '../../protocols/translation/pairs.ts';
import { SCHEMA_MEMBER, TOOL_RESULT } from './trial-requests.ts';

/** Members in which chat providers return reasoning, those that keep most of it first. */
const REASONING_MEMBERS = ['reasoning_details', 'reasoning_content', 'reasoning'] as const;
type ReasoningMember = (typeof REASONING_MEMBERS)[number];

/** How the response of a provider shows that the model reasoned. */
export interface ShownReasoning {
  readonly isShown: boolean;
  /** Members of a chat response that have reasoning. */
  readonly members: readonly ReasoningMember[];
}

/** @param body a whole response of the provider */
export function shownReasoning(form: ProviderFormName, body: Buffer): ShownReasoning {
  const response = parseJson(body.toString('utf8'));
  if (form === 'messages') {
    const content = listIn(response, 'content');
    const isShown = content.some((block) => ['thinking', 'redacted_thinking'].includes(textIn(block, 'type')));
    return { isShown, members: [] };
  }
  const message = memberOf(listIn(response, 'choices')[0], 'message');
  const members = REASONING_MEMBERS.filter((name) => {
    const value = memberOf(message, name);
    return Array.isArray(value) ? value.length > 0 : typeof value === 'string' && value !== '';
  });
  const details = memberOf(memberOf(response, 'usage'), 'completion_tokens_details');
  return { isShown: members.length > 0 || Number(memberOf(details, 'reasoning_tokens') ?? 0) > 0, members };
}

/** The turns that answer the call of a tool: what the client got, and the result. `null` if the answer calls no tool. */
export function toolTurns(client: 'chat' | 'messages', answer: unknown): readonly object[] | null {
  if (client === 'messages') {
    const content = listIn(answer, 'content');
    const results = content
      .filter((block) => textIn(block, 'type') === 'tool_use')
      .map((block) => ({ type: 'tool_result', tool_use_id: memberOf(block, 'id'), content: TOOL_RESULT }));
    if (results.length === 0) return null;
    return [
      { role: 'assistant', content },
      { role: 'user', content: results },
    ];
  }
  const message = memberOf(listIn(answer, 'choices')[0], 'message');
  const calls = listIn(message, 'tool_calls');
  if (!isRecord(message) || calls.length === 0) return null;
  const results = calls.map((call) => ({ role: 'tool', tool_call_id: memberOf(call, 'id'), content: TOOL_RESULT }));
  return [message, ...results];
}

/** Whether an answer in messages follows the schema of the trial. */
export function followsSchema(answer: unknown): boolean {
  const text = listIn(answer, 'content')
    .map((block) => textIn(block, 'text'))
    .join('');
  return isRecord(parseJson(text)) && Number.isInteger(memberOf(parseJson(text), SCHEMA_MEMBER));
}

/** Fields that models reject, and how they name them. */
const REJECTED = ['temperature', 'top_p'] as const;

/**
 * Changes a dialect by the words of a refusal, such as "Use 'max_completion_tokens' instead." `null` if they name nothing that can be
 * changed.
 */
export function repairedDialect(dialect: DialectConfig, words: string): DialectConfig | null {
  if (words.includes('max_completion_tokens') && dialect.maxTokens === undefined)
    return { ...dialect, maxTokens: 'max_completion_tokens' };
  const drops = dialect.drops ?? [];
  const rejected = REJECTED.find((name) => words.includes(name) && !drops.includes(name));
  return rejected === undefined ? null : { ...dialect, drops: [...drops, rejected] };
}

/** The member in which a provider asks for reasoning by the words of its refusal; `null`: it does not ask. */
export function requiredReplay(words: string): ReasoningMember | null {
  return REASONING_MEMBERS.find((name) => new RegExp(`\\b${name}\\b`).test(words)) ?? null;
}

function memberOf(value: unknown, name: string): unknown {
  return isRecord(value) ? value[name] : undefined;
}

function listIn(value: unknown, name: string): readonly unknown[] {
  const list = memberOf(value, name);
  return Array.isArray(list) ? list : [];
}

function textIn(value: unknown, name: string): string {
  const text = memberOf(value, name);
  return typeof text === 'string' ? text : '';
}
