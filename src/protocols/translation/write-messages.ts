import type { Conversation, RawJson, Tool } from './conversation.ts';
import type { Effort, MessagesDialect } from './dialect.ts';
import { providerToolName } from './names.ts';
import type { TranslationNotes } from './notes.ts';
import { filledTexts } from './ordered-turns.ts';
import { isBlank, quoted } from './raw-text.ts';
import { descriptionOf, forcedTool, requireDistinct, schemaOf } from './tool-definition.ts';
import { writeBlock } from './write-messages-block.ts';
import { writeMessagesReasoning } from './write-messages-reasoning.ts';
import { type MessagesSpeaker, type WrittenTurns, writeMessagesTurns } from './write-messages-turns.ts';
import { WrittenObject } from './written-object.ts';

export interface MessagesTarget extends MessagesSpeaker {
  /** The model as the provider calls it. */
  readonly model: string;
  /** Output limit of the model, which messages providers require. */
  readonly outputTokensMax: number;
}

/**
 * Writes the body for a messages provider. The messages come last, so that a longer conversation begins with the bytes of the shorter one.
 * @throws GatewayError `invalidRequest` with the client's member if messages cannot express content or a guarantee
 */
export function writeMessagesRequest(
  conversation: Conversation,
  target: MessagesTarget,
  notes: TranslationNotes,
): string {
  const { dialect, outputTokensMax } = target;
  const { settings, system, tools, isStream } = conversation;
  const body = new WrittenObject();
  const asked = settings.outputTokens;
  const limit = Math.min(asked?.value ?? outputTokensMax, outputTokensMax);
  if (asked !== null && limit < asked.value) notes.leaveOut(asked.path);
  const messages = writeMessagesTurns(conversation, target, notes);
  body.add('model', JSON.stringify(target.model));
  if (isStream) body.add('stream', 'true');
  body.add('max_tokens', String(limit));
  const canThink = mayThink(conversation, messages, dialect);
  const { thinks, effort } = writeMessagesReasoning(body, settings.reasoning, { dialect, limit, canThink }, notes);
  writeSampling(body, conversation, { dialect, thinks }, notes);
  writeOutput(body, conversation, effort, notes);
  writeHints(body, conversation, { dialect, thinks }, notes);
  writeTools(body, conversation, dialect, notes);
  const instructions = filledTexts(system, notes);
  if (instructions.length > 0) body.add('system', `[${instructions.map((block) => writeBlock(block)).join(',')}]`);
  body.add('messages', `[${messages.written.join(',')}]`);
  requireDistinct(tools, notes);
  return body.toString();
}

/**
 * Whether the provider accepts thinking: not with a forced tool, nor if it continues an answer. Within a budget, the last turn of the assistant
 * must begin with its thinking if it has calls.
 */
function mayThink(
  { tools, toolChoice }: Conversation,
  { isContinued, lacksThinking }: WrittenTurns,
  { thinking }: MessagesDialect,
): boolean {
  const isForced = tools.length > 0 && (toolChoice?.type === 'tool' || toolChoice?.type === 'required');
  return !isForced && !isContinued && !(thinking === 'budget' && lacksThinking);
}

function writeSampling(
  body: WrittenObject,
  { settings }: Conversation,
  { dialect, thinks }: Sampling,
  notes: TranslationNotes,
): void {
  const { temperature, topP, stop } = settings;
  // Providers that think accept no other temperature.
  const samples = (name: string, value: RawJson | null): void => {
    if (value === null) return;
    if (thinks || dialect.drops.has(name)) notes.leaveOut(name);
    else body.add(name, value);
  };
  const isHot = Number(temperature) > 1;
  if (isHot) notes.leaveOut('temperature');
  samples('temperature', isHot ? '1' : temperature);
  samples('top_p', topP);
  if (stop.length === 0) return;
  const blank = stop.find((each) => isBlank(each.slice(1, -1)));
  if (dialect.drops.has('stop_sequences')) notes.leaveOut('stop');
  else if (blank !== undefined) notes.refuse('stop', 'has a stop sequence of white space alone');
  else body.add('stop_sequences', `[${stop.join(',')}]`);
}

interface Sampling {
  readonly dialect: MessagesDialect;
  readonly thinks: boolean;
}

function writeOutput(
  body: WrittenObject,
  { settings: { format } }: Conversation,
  effort: Effort | null,
  notes: TranslationNotes,
): void {
  if (format?.type === 'object') notes.refuse(format.path, 'asks for JSON without a schema');
  const output = new WrittenObject();
  output.add('effort', effort === null ? null : JSON.stringify(effort));
  output.add('format', format === null ? null : `{"type":"json_schema","schema":${format.schema}}`);
  if (!output.isEmpty) body.add('output_config', output.toString());
}

function writeHints(
  body: WrittenObject,
  conversation: Conversation,
  { dialect: { takes, drops, promptCache }, thinks }: Sampling,
  notes: TranslationNotes,
): void {
  const { hints, turns } = conversation;
  for (const [name, { path, value }] of hints) {
    const isTaken = takes.has(name) && !drops.has(name) && !(thinks && name === 'top_k');
    if (isTaken && name === 'user') body.add('metadata', `{"user_id":${value}}`);
    else if (isTaken && (name !== 'metadata' || !takes.has('user') || !hints.has('user'))) body.add(name, value);
    else if (name !== 'prompt_cache_key' || promptCache === 'off') notes.leaveOut(path);
  }
  const isConversation = hints.has('prompt_cache_key') || turns.some(({ role }) => role === 'assistant');
  if (promptCache !== 'auto' || !isConversation || marksOf(conversation) >= MARKS_MAX) return;
  notes.add('cache_control');
  body.add('cache_control', '{"type":"ephemeral"}');
}

/** Most marks of a prompt cache that vendors accept in a request. */
const MARKS_MAX = 4;

/** Number of blocks and tools with a mark of the client. */
function marksOf({ system, tools, turns }: Conversation): number {
  const isMarked = (block: object): number => ('cache' in block && block.cache !== null ? 1 : 0);
  let marks = 0;
  for (const each of [...system, ...tools]) marks += isMarked(each);
  for (const { blocks } of turns) {
    for (const block of blocks) {
      marks += isMarked(block);
      if (block.kind === 'result') for (const each of block.content) marks += isMarked(each);
    }
  }
  return marks;
}

function writeTools(
  body: WrittenObject,
  { tools, toolChoice, parallelCalls }: Conversation,
  { takes }: MessagesDialect,
  notes: TranslationNotes,
): void {
  if (tools.length === 0) {
    if (toolChoice !== null && toolChoice.type !== 'none') notes.leaveOut('tool_choice');
    return;
  }
  body.add('tools', `[${tools.map((tool) => writeTool(tool, takes, notes)).join(',')}]`);
  const serial = parallelCalls === false ? ',"disable_parallel_tool_use":true' : '';
  if (toolChoice === null) {
    if (serial !== '') body.add('tool_choice', `{"type":"auto"${serial}}`);
    return;
  }
  if (toolChoice.type !== 'tool') {
    const type = toolChoice.type === 'required' ? 'any' : toolChoice.type;
    body.add('tool_choice', `{"type":"${type}"${type === 'none' ? '' : serial}}`);
    return;
  }
  const tool = forcedTool(toolChoice, tools, notes);
  body.add('tool_choice', `{"type":"tool","name":${JSON.stringify(providerToolName(tool))}${serial}}`);
}

function writeTool(tool: Tool, takes: ReadonlySet<string>, notes: TranslationNotes): string {
  const written = new WrittenObject();
  written.add('name', JSON.stringify(providerToolName(tool)));
  written.add('description', quoted(descriptionOf(tool)));
  written.add('input_schema', schemaOf(tool));
  written.add('cache_control', tool.cache);
  if (tool.strict && takes.has('strict')) written.add('strict', 'true');
  else if (tool.strict) notes.leaveOut(`${tool.path}.strict`);
  return written.toString();
}
