import { JsonSlice } from '../../lib/json/json-slice.ts';
import { toolFamily, toolRule } from '../tools.ts';
import { CARRIER_FORMAT } from './carriers.ts';
import { readHints, refuseMembers } from './client-members.ts';
import type {
  Block,
  CallBlock,
  Conversation,
  MediaBlock,
  ReasoningBlock,
  TextBlock,
  Tool,
  Turn,
} from './conversation.ts';
import { leadingSystem } from './leading-system.ts';
import { sourceOf } from './media-sources.ts';
import { ReadMembers } from './members.ts';
import type { TranslationNotes } from './notes.ts';
import { type ProviderTool, providerRuns } from './provider-tools.ts';
import { readOutputFormat } from './read-schema-format.ts';
import { readToolChoice } from './read-tool-choice.ts';

/**
 * Reads the body of a chat client. Members that no other protocol has are listed as left out.
 * @param body valid JSON, checked by the operation `chat`
 * @throws GatewayError `invalidRequest` with the client's member if content or a guarantee cannot be expressed
 */
export function readChatRequest(body: Buffer, notes: TranslationNotes): Conversation {
  const top = new ReadMembers(JsonSlice.at(body), '', notes);
  top.take('model');
  const isStream = top.boolean('stream') ?? false;
  const options = top.object('stream_options');
  const reportsUsage = options?.boolean('include_usage') ?? false;
  refuseMembers('chat', top);
  const limit = top.count('max_completion_tokens');
  const earlierLimit = top.count('max_tokens');
  const outputTokens = limit ?? earlierLimit;
  const { offered, ofProvider } = readTools(top, notes);
  const { toolChoice, tools } = readToolChoice(top, offered, notes);
  const effort = top.text('reasoning_effort');
  const format = top.object('response_format');
  const { system, turns } = leadingSystem(readTurns(top, notes), notes);
  const conversation: Conversation = {
    system,
    tools,
    toolChoice,
    parallelCalls: top.boolean('parallel_tool_calls'),
    turns,
    turnsPath: 'messages',
    settings: {
      outputTokens:
        outputTokens === null
          ? null
          : { value: outputTokens, path: limit === null ? 'max_tokens' : 'max_completion_tokens' },
      temperature: top.raw('temperature'),
      topP: top.raw('top_p'),
      stop: readStop(top),
      reasoning: { effort, isOn: effort === null ? null : effort !== 'none', budgetTokens: null, isShown: true },
      format: format === null ? null : readOutputFormat(format, (each) => each.object('json_schema')),
    },
    isStream,
    reportsUsage,
    hints: readHints('chat', top),
  };
  providerRuns(ofProvider, conversation, notes);
  top.leaveOutRest();
  return conversation;
}

function readStop(top: ReadMembers): readonly string[] {
  const stop = top.content('stop');
  if (stop === null) return [];
  return stop.kind === 'array' ? stop.items().map(({ raw }) => raw) : [stop.raw];
}

function readTools(
  top: ReadMembers,
  notes: TranslationNotes,
): { readonly offered: readonly Tool[]; readonly ofProvider: readonly ProviderTool[] } {
  const offered: Tool[] = [];
  const ofProvider: ProviderTool[] = [];
  for (const [index, item] of top.items('tools').entries()) {
    const tool = new ReadMembers(item, `tools[${index}]`, notes);
    const type = tool.text('type') ?? 'function';
    if (type !== 'function' && type !== 'custom') {
      if (toolRule(type)?.runs === 'client') tool.refuse('type', `names the tool ${JSON.stringify(type)}`);
      ofProvider.push({ path: tool.path, kind: toolFamily(type), name: type });
      continue;
    }
    const cache = tool.raw('cache_control');
    const made = tool.object(type) ?? tool.refuse(type, 'is missing');
    offered.push({
      form: type,
      name: made.requiredText('name'),
      namespace: null,
      description: made.rawText('description'),
      schema: made.raw('parameters'),
      format: made.raw('format'),
      strict: made.boolean('strict'),
      cache,
      path: tool.path,
    });
    made.leaveOutRest();
    tool.leaveOutRest();
  }
  if (top.take('web_search_options') !== null)
    ofProvider.push({ path: 'web_search_options', kind: '', name: 'web_search' });
  return { offered, ofProvider };
}

function readTurns(top: ReadMembers, notes: TranslationNotes): readonly Turn[] {
  return top.items('messages').map((item, index): Turn => {
    const message = new ReadMembers(item, `messages[${index}]`, notes);
    const role = message.requiredText('role');
    const { path } = message;
    switch (role) {
      case 'system':
      case 'developer':
        return { role: 'system', blocks: readContent(message, notes), path };
      case 'user':
        return { role: 'user', blocks: readContent(message, notes), path };
      case 'assistant':
        return { role: 'assistant', blocks: readAssistant(message, notes), path };
      case 'tool': {
        const callId = message.requiredText('tool_call_id');
        const cache = message.raw('cache_control');
        const content = readContent(message, notes);
        return { role: 'user', blocks: [{ kind: 'result', callId, isError: false, content, cache, path }], path };
      }
      default:
        return message.refuse('role', 'is no known role');
    }
  });
}

function readContent(message: ReadMembers, notes: TranslationNotes): readonly (TextBlock | MediaBlock)[] {
  const content = message.content('content');
  const path = message.pathOf('content');
  message.leaveOutRest();
  if (content === null) return [];
  if (content.kind === 'string') return [{ kind: 'text', text: content.rawText!, cache: null }];
  return content.items().flatMap((item, index) => readPart(new ReadMembers(item, `${path}[${index}]`, notes)));
}

function readPart(part: ReadMembers): readonly (TextBlock | MediaBlock)[] {
  const type = part.requiredText('type');
  const cache = part.raw('cache_control');
  const { path } = part;
  switch (type) {
    case 'text': {
      const text = part.requiredRawText('text');
      part.leaveOutRest();
      return [{ kind: 'text', text, cache }];
    }
    case 'image_url': {
      const written = part.take('image_url') ?? part.refuse('image_url', 'is missing');
      const image = written.kind === 'string' ? null : part.within('image_url', written);
      const url = image === null ? written.rawText! : image.requiredRawText('url');
      const detail = image?.raw('detail') ?? null;
      image?.leaveOutRest();
      part.leaveOutRest();
      return [{ kind: 'media', type: 'image', source: sourceOf(url), name: null, detail, cache, path }];
    }
    case 'file': {
      const file = part.object('file') ?? part.refuse('file', 'is missing');
      const data =
        file.rawText('file_data') ?? file.refuse('file_data', 'is missing, and a file by its id belongs to one vendor');
      const name = file.rawText('filename');
      file.leaveOutRest();
      part.leaveOutRest();
      return [pdfOf(data, { name, cache, path }, file)];
    }
    default:
      return part.refuse('type', `has the unknown value ${JSON.stringify(type)}`);
  }
}

/** A file with its content. Only PDF has a place in other protocols. */
export function pdfOf(
  data: string,
  about: Pick<MediaBlock, 'name' | 'cache' | 'path'>,
  file: Pick<ReadMembers, 'refuse'>,
): MediaBlock {
  const source = sourceOf(data);
  const base64 = 'base64' in source ? source.base64 : source.url;
  const mediaType = 'base64' in source ? source.mediaType : 'application/pdf';
  if ('url' in source && source.url.includes(':')) file.refuse('file_data', 'is an address, not the content of a file');
  if (mediaType !== 'application/pdf') file.refuse('file_data', 'is no PDF');
  return { kind: 'media', type: 'pdf', source: { base64, mediaType }, detail: null, ...about };
}

function readAssistant(message: ReadMembers, notes: TranslationNotes): readonly Block[] {
  const blocks: Block[] = [];
  blocks.push(...readReasoning(message));
  for (const name of ['audio', 'function_call']) {
    if (message.take(name) !== null) message.refuse(name, 'exists only in chat');
  }
  const refusal = message.rawText('refusal');
  const calls = message.items('tool_calls');
  const path = message.pathOf('tool_calls');
  const content = message.content('content');
  const contentPath = message.pathOf('content');
  message.leaveOutRest();
  if (content?.kind === 'string') blocks.push({ kind: 'text', text: content.rawText!, cache: null });
  for (const [index, item] of (content?.items() ?? []).entries()) {
    const part = new ReadMembers(item, `${contentPath}[${index}]`, notes);
    const words = part.rawText('refusal');
    if (words === null) blocks.push(...readPart(part));
    else blocks.push({ kind: 'refusal', text: words });
  }
  if (refusal !== null) blocks.push({ kind: 'refusal', text: refusal });
  for (const [index, item] of calls.entries()) {
    blocks.push(readCall(new ReadMembers(item, `${path}[${index}]`, notes)));
  }
  return blocks;
}

function readCall(call: ReadMembers): CallBlock {
  const id = call.requiredText('id');
  const form = call.text('type') === 'custom' ? 'custom' : 'function';
  call.take('index');
  const made = call.object(form) ?? call.refuse(form, 'is missing');
  const name = made.requiredText('name');
  const input = made.text(form === 'custom' ? 'input' : 'arguments') ?? '';
  made.leaveOutRest();
  call.leaveOutRest();
  return { kind: 'call', id, form, name, namespace: null, input, cache: null, path: call.path };
}

/** Reads reasoning in any of the members that clients return. Carriers are items of `reasoning_details`, one for each block of reasoning. */
function readReasoning(message: ReadMembers): readonly ReasoningBlock[] {
  const texts = ['reasoning_content', 'reasoning', 'reasoning_text'].map((name) => message.rawText(name));
  const carriers = new Set<string>();
  for (const item of message.items('reasoning_details')) {
    const detail = item.members();
    const carrier = detail.get('format')?.text === CARRIER_FORMAT ? detail.get('data')?.text : null;
    if (carrier) carriers.add(carrier);
    else message.leaveOut('reasoning_details');
  }
  const text = texts.find((each) => each !== null && each !== '') ?? null;
  if (carriers.size === 0) return text === null ? [] : [{ kind: 'reasoning', text, carrier: null }];
  // The text of all blocks is one member. A carrier has that of its own block, if the provider needs it.
  return [...carriers].map((carrier, index) => ({ kind: 'reasoning', text: index === 0 ? text : null, carrier }));
}
