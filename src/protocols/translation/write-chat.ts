import type { Conversation, RawJson, Tool, ToolChoice } from './conversation.ts';
import type { ChatDialect } from './dialect.ts';
import { providerToolName } from './names.ts';
import type { TranslationNotes } from './notes.ts';
import { quoted } from './raw-text.ts';
import { descriptionOf, forcedTool, requireDistinct, schemaOf } from './tool-definition.ts';
import { type ChatSpeaker, writeChatMessages } from './write-chat-messages.ts';
import { writeChatReasoning } from './write-chat-reasoning.ts';
import { WrittenObject } from './written-object.ts';

export interface ChatTarget extends ChatSpeaker {
  /** The model as the provider calls it. */
  readonly model: string;
  /** Output limit of the model; `null`: unknown. */
  readonly outputTokensMax: number | null;
}

/**
 * Writes the body for a chat provider. The messages come last, so that a longer conversation begins with the bytes of the shorter one.
 * @throws GatewayError `invalidRequest` with the client's member if chat cannot express content or a guarantee
 */
export function writeChatRequest(conversation: Conversation, target: ChatTarget, notes: TranslationNotes): string {
  const { dialect } = target;
  const { tools, settings, isStream } = conversation;
  const body = new WrittenObject();
  body.add('model', JSON.stringify(target.model));
  if (isStream) body.add('stream', 'true');
  writeOutputLimit(body, conversation, target, notes);
  const optional = (name: string, path: string, value: RawJson | null): void => {
    if (value === null) return;
    if (dialect.drops.has(name)) notes.leaveOut(path);
    else body.add(name, value);
  };
  optional('temperature', 'temperature', settings.temperature);
  optional('top_p', 'top_p', settings.topP);
  optional('stop', 'stop_sequences', settings.stop.length === 0 ? null : `[${settings.stop.join(',')}]`);
  writeChatReasoning(body, settings.reasoning, dialect, notes);
  writeFormat(body, conversation, dialect, notes);
  for (const [name, { path, value }] of conversation.hints) {
    if (dialect.takes.has(name) && !dialect.drops.has(name)) body.add(name, value);
    else notes.leaveOut(path);
  }
  writeTools(body, conversation, dialect, notes);
  body.add('messages', `[${writeChatMessages(conversation, target, notes).join(',')}]`);
  requireDistinct(tools, notes);
  return body.toString();
}

function writeOutputLimit(
  body: WrittenObject,
  { settings: { outputTokens } }: Conversation,
  { dialect, outputTokensMax }: ChatTarget,
  notes: TranslationNotes,
): void {
  if (outputTokens === null) return;
  const { value, path } = outputTokens;
  const limit = Math.min(value, outputTokensMax ?? value);
  if (limit < value) notes.leaveOut(path);
  if (dialect.drops.has(dialect.maxTokens)) notes.leaveOut(path);
  else body.add(dialect.maxTokens, String(limit));
}

function writeFormat(
  body: WrittenObject,
  { settings: { format } }: Conversation,
  { takes }: ChatDialect,
  notes: TranslationNotes,
): void {
  if (format === null) return;
  if (format.type === 'object') {
    body.add('response_format', '{"type":"json_object"}');
    return;
  }
  if (!takes.has('json_schema')) notes.refuse(format.path, 'asks for output of a JSON schema');
  const schema = new WrittenObject();
  schema.add('name', `"${format.name}"`);
  schema.add('description', quoted(format.description));
  schema.add('schema', format.schema);
  schema.add('strict', String(format.strict ?? true));
  body.add('response_format', `{"type":"json_schema","json_schema":${schema}}`);
}

function writeTools(
  body: WrittenObject,
  { tools, toolChoice, parallelCalls }: Conversation,
  { takes, drops }: ChatDialect,
  notes: TranslationNotes,
): void {
  if (tools.length === 0) {
    if (toolChoice !== null && toolChoice.type !== 'none') notes.leaveOut('tool_choice');
    return;
  }
  body.add('tools', `[${tools.map((tool) => writeTool(tool, takes, notes)).join(',')}]`);
  if (toolChoice !== null) body.add('tool_choice', writeToolChoice(toolChoice, tools, notes));
  if (parallelCalls !== false) return;
  if (drops.has('parallel_tool_calls')) notes.leaveOut('parallel_tool_calls');
  else body.add('parallel_tool_calls', 'false');
}

function writeTool(tool: Tool, takes: ReadonlySet<string>, notes: TranslationNotes): string {
  const written = new WrittenObject();
  written.add('name', JSON.stringify(providerToolName(tool)));
  written.add('description', quoted(descriptionOf(tool)));
  written.add('parameters', schemaOf(tool));
  if (tool.strict !== null) {
    if (takes.has('strict')) written.add('strict', String(tool.strict));
    // Functions of chat are not strict unless they say so.
    else if (tool.strict) notes.leaveOut(`${tool.path}.strict`);
  }
  const cache = tool.cache === null || !takes.has('cache_control') ? '' : `,"cache_control":${tool.cache}`;
  if (tool.cache !== null && cache === '') notes.leaveOut('tools[].cache_control');
  return `{"type":"function","function":${written}${cache}}`;
}

function writeToolChoice(choice: ToolChoice, tools: readonly Tool[], notes: TranslationNotes): RawJson {
  if (choice.type !== 'tool') return JSON.stringify(choice.type);
  const tool = forcedTool(choice, tools, notes);
  return `{"type":"function","function":{"name":${JSON.stringify(providerToolName(tool))}}}`;
}
