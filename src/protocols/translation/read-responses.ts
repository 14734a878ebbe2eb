import { JsonSlice } from '../../lib/json/json-slice.ts';
import type { Block, Conversation, Hint, ReasoningSettings, Turn } from './conversation.ts';
import { leadingSystem } from './leading-system.ts';
import { ReadMembers } from './members.ts';
import type { TranslationNotes } from './notes.ts';
import { providerRuns } from './provider-tools.ts';
import { readInputItem } from './read-responses-items.ts';
import { readResponsesTools } from './read-responses-tools.ts';
import { readOutputFormat } from './read-schema-format.ts';
import { readToolChoice } from './read-tool-choice.ts';

/**
 * Reads the body of a responses client. Nothing of the conversation is stored, so the request must contain all of its items.
 * @param body valid JSON, checked by the operation `responses`
 * @throws GatewayError `invalidRequest` with the client's member if content or a guarantee cannot be expressed
 */
export function readResponsesRequest(body: Buffer, notes: TranslationNotes): Conversation {
  const top = new ReadMembers(JsonSlice.at(body), '', notes);
  top.take('model');
  const isStream = top.boolean('stream') ?? false;
  for (const name of ['stream_options', 'include', 'store']) top.take(name);
  refuseState(top);
  const { offered, ofProvider } = readResponsesTools(top, notes);
  const { toolChoice, tools } = readToolChoice(top, offered, notes);
  const outputTokens = top.count('max_output_tokens');
  const instructions = top.rawText('instructions');
  const { system, turns } = leadingSystem(readTurns(top, notes), notes);
  const text = top.object('text');
  const format = text?.object('format') ?? null;
  const conversation: Conversation = {
    system: instructions === null ? system : [{ kind: 'text', text: instructions, cache: null }, ...system],
    tools,
    toolChoice,
    parallelCalls: top.boolean('parallel_tool_calls'),
    turns,
    settings: {
      outputTokens: outputTokens === null ? null : { value: outputTokens, path: 'max_output_tokens' },
      temperature: top.raw('temperature'),
      topP: top.raw('top_p'),
      stop: [],
      reasoning: readReasoning(top),
      format: format === null ? null : readOutputFormat(format, (each) => each),
    },
    isStream,
    reportsUsage: false,
    hints: readHints(top, text),
  };
  providerRuns(ofProvider, conversation, notes);
  text?.leaveOutRest();
  top.leaveOutRest();
  return conversation;
}

const ITEMS_ADVICE = 'refers to state that is not stored. Send the items themselves, with "store": false';

/** Refuses members that refer to stored state, or would change the answer if they were left out. */
function refuseState(top: ReadMembers): void {
  for (const name of ['previous_response_id', 'conversation', 'prompt']) {
    if (top.take(name) !== null) top.refuse(name, ITEMS_ADVICE);
  }
  if (top.count('top_logprobs')) top.refuse('top_logprobs', 'asks for log probabilities');
  const tier = top.text('service_tier');
  if (tier !== null && !PLAIN_TIERS.includes(tier)) top.refuse('service_tier', 'asks for another service tier');
}

const PLAIN_TIERS = ['auto', 'default'];

const HINTS = ['user', 'safety_identifier', 'prompt_cache_key', 'metadata'] as const;

function readHints(top: ReadMembers, text: ReadMembers | null): ReadonlyMap<string, Hint> {
  const hints = new Map<string, Hint>();
  for (const name of HINTS) {
    const value = top.raw(name);
    if (value !== null) hints.set(name, { path: name, value });
  }
  const verbosity = text?.raw('verbosity') ?? null;
  if (verbosity !== null) hints.set('verbosity', { path: 'text.verbosity', value: verbosity });
  return hints;
}

/** Reasoning is shown if the client asks for a summary of it. */
function readReasoning(top: ReadMembers): ReasoningSettings {
  const reasoning = top.object('reasoning');
  if (reasoning === null) return { effort: null, isOn: null, budgetTokens: null, isShown: false };
  const effort = reasoning.text('effort');
  const summary = reasoning.text('summary') ?? reasoning.text('generate_summary');
  reasoning.leaveOutRest();
  return { effort, isOn: effort === null ? null : effort !== 'none', budgetTokens: null, isShown: summary !== null };
}

function readTurns(top: ReadMembers, notes: TranslationNotes): readonly Turn[] {
  const input = top.take('input');
  if (input === null) return [];
  if (input.kind === 'string') {
    const blocks: readonly Block[] = [{ kind: 'text', text: input.rawText!, cache: null }];
    return [{ role: 'user', blocks, path: 'input' }];
  }
  return input.items().map((item, index) => readInputItem(new ReadMembers(item, `input[${index}]`, notes), notes));
}
