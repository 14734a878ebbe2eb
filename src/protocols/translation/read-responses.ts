import { JsonSlice } from '../../lib/json/json-slice.ts';
import { readHints, refuseMembers } from './client-members.ts';
import type { Conversation, RawText, ReasoningSettings, Turn } from './conversation.ts';
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
  top.take('stream_options');
  // Nothing is stored, and reasoning always comes with its opaque field, so these two ask for what happens anyway.
  if (top.boolean('store')) top.leaveOut('store');
  for (const { text } of top.items('include')) if (text !== 'reasoning.encrypted_content') readInclude(text, top);
  refuseMembers('responses', top);
  const input = top.content('input');
  const items = input?.kind === 'string' ? [] : (input?.items() ?? []);
  const { offered, ofProvider } = readResponsesTools(top, items, notes);
  const { toolChoice, tools } = readToolChoice(top, offered, notes);
  const outputTokens = top.count('max_output_tokens');
  const instructions = top.rawText('instructions');
  const { system, turns } = leadingSystem(
    input?.kind === 'string' ? [ofText(input.rawText!)] : readTurns(items, notes),
    notes,
  );
  const text = top.object('text');
  const format = text?.object('format') ?? null;
  const conversation: Conversation = {
    system: instructions === null ? system : [{ kind: 'text', text: instructions, cache: null }, ...system],
    tools,
    toolChoice,
    parallelCalls: top.boolean('parallel_tool_calls'),
    turns,
    turnsPath: 'input',
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
    hints: readHints('responses', top, { text }),
  };
  providerRuns(ofProvider, conversation, notes);
  text?.leaveOutRest();
  top.leaveOutRest();
  return conversation;
}

/** Other data than sealed reasoning that the client wants to read. */
function readInclude(name: string | null, top: ReadMembers): void {
  if (name === 'message.output_text.logprobs') top.refuse('include', 'asks for log probabilities');
  top.leaveOut('include');
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

/** The turn of an input that is one text. */
function ofText(text: RawText): Turn {
  return { role: 'user', blocks: [{ kind: 'text', text, cache: null }], path: 'input' };
}

function readTurns(items: readonly JsonSlice[], notes: TranslationNotes): readonly Turn[] {
  return items.flatMap((item, index) => readInputItem(new ReadMembers(item, `input[${index}]`, notes), notes) ?? []);
}
