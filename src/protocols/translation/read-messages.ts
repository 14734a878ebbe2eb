import { JsonSlice } from '../../lib/json/json-slice.ts';
import { readHints, refuseMembers } from './client-members.ts';
import type {
  Block,
  Conversation,
  MediaBlock,
  OutputFormat,
  RawText,
  ReasoningSettings,
  ResultBlock,
  TextBlock,
  Turn,
} from './conversation.ts';
import { leadingSystem } from './leading-system.ts';
import { ReadMembers } from './members.ts';
import type { TranslationNotes } from './notes.ts';
import { providerRuns } from './provider-tools.ts';
import { toRawText } from './raw-text.ts';
import { readMessagesToolChoice, readMessagesTools } from './read-messages-tools.ts';

/** Begins the first instruction block of Claude Code. It changes from call to call, so that prompt caches would miss. */
const ATTRIBUTION = 'x-anthropic-billing-header';

/**
 * Reads the body of a messages client. Members that no other protocol has are listed as left out.
 * @param body valid JSON, checked by the operation `messages`
 * @throws GatewayError `invalidRequest` with the client's member if content cannot be expressed
 */
export function readMessagesRequest(body: Buffer, notes: TranslationNotes): Conversation {
  const top = new ReadMembers(JsonSlice.at(body), '', notes);
  top.take('model');
  const isStream = top.boolean('stream') ?? false;
  const outputTokens = top.count('max_tokens');
  refuseMembers('messages', top);
  const tools = readMessagesTools(top, notes);
  const { choice, parallelCalls } = readMessagesToolChoice(top);
  const output = top.object('output_config');
  const metadata = top.object('metadata');
  const hints = readHints('messages', top, { metadata, output_config: output });
  metadata?.leaveOutRest();
  const { system, turns } = leadingSystem(readTurns(top, notes), notes);
  const conversation: Conversation = {
    system: [...readSystem(top, notes), ...system],
    tools: tools.offered,
    toolChoice: choice,
    parallelCalls,
    turns,
    turnsPath: 'messages',
    settings: {
      outputTokens: outputTokens === null ? null : { value: outputTokens, path: 'max_tokens' },
      temperature: top.raw('temperature'),
      topP: top.raw('top_p'),
      stop: top.items('stop_sequences').map(({ raw }) => raw),
      reasoning: readReasoning(top, output),
      format: readFormat(output ?? top),
    },
    isStream,
    reportsUsage: false,
    hints,
  };
  providerRuns(tools.ofProvider, conversation, notes);
  output?.leaveOutRest();
  top.leaveOutRest();
  return conversation;
}

function readSystem(top: ReadMembers, notes: TranslationNotes): readonly TextBlock[] {
  const system = top.content('system');
  if (system === null) return [];
  return textsOf(system, 'system', notes).map((block) => {
    if (!block.text.startsWith(ATTRIBUTION)) return block;
    notes.leaveOut('system');
    const end = block.text.indexOf('\\n');
    return { ...block, text: end === -1 ? '' : block.text.slice(end + 2) };
  });
}

/** Reads a string, or an array of text blocks. */
function textsOf(slice: JsonSlice, path: string, notes: TranslationNotes): readonly TextBlock[] {
  if (slice.kind === 'string') return [plainText(slice.rawText!)];
  return slice.items().map((item, index) => {
    const block = new ReadMembers(item, `${path}[${index}]`, notes);
    const type = block.text('type');
    if (type !== 'text') notes.refuse(block.path, `has the unknown type ${JSON.stringify(type)}`);
    return readText(block);
  });
}

function plainText(text: RawText): TextBlock {
  return { kind: 'text', text, cache: null };
}

function readText(block: ReadMembers): TextBlock {
  const text = block.requiredRawText('text');
  const cache = block.raw('cache_control');
  block.leaveOutRest();
  return { kind: 'text', text, cache };
}

function readTurns(top: ReadMembers, notes: TranslationNotes): readonly Turn[] {
  return top.items('messages').map((item, index) => {
    const turn = new ReadMembers(item, `messages[${index}]`, notes);
    const named = turn.requiredText('role');
    const role = ROLES.find((known) => known === named) ?? turn.refuse('role', 'is no known role');
    const content = turn.content('content');
    const path = turn.pathOf('content');
    turn.leaveOutRest();
    if (content === null) return { role, blocks: [], path: turn.path };
    if (content.kind === 'string') return { role, blocks: [plainText(content.rawText!)], path: turn.path };
    const blocks = content
      .items()
      .flatMap((block, place) => readBlock(new ReadMembers(block, `${path}[${place}]`, notes), notes));
    return { role, blocks, path: turn.path };
  });
}

const ROLES = ['user', 'assistant', 'system'] as const;

function readBlock(block: ReadMembers, notes: TranslationNotes): readonly Block[] {
  const type = block.requiredText('type');
  switch (type) {
    case 'text':
      return [readText(block)];
    case 'image':
    case 'document':
      return readMedia(type, block, notes);
    case 'thinking': {
      const text = block.rawText('thinking');
      const carrier = block.text('signature');
      block.leaveOutRest();
      return [{ kind: 'reasoning', text: text || null, carrier: carrier || null }];
    }
    case 'redacted_thinking': {
      const carrier = block.text('data');
      block.leaveOutRest();
      return [{ kind: 'reasoning', text: null, carrier }];
    }
    case 'tool_use': {
      const id = block.requiredText('id');
      const name = block.requiredText('name');
      const input = block.take('input');
      const cache = block.raw('cache_control');
      block.leaveOutRest();
      const { path } = block;
      return [{ ...FUNCTION, id, name, input: input?.raw ?? '{}', cache, path }];
    }
    case 'tool_result':
      return [readResult(block, notes)];
    default:
      if (isOfProviderTool(type)) return readProviderTool(type, block);
      return notes.refuse(block.path, `has the unknown type ${JSON.stringify(type)}`);
  }
}

const FUNCTION = { kind: 'call', form: 'function', namespace: null } as const;

function readResult(block: ReadMembers, notes: TranslationNotes): ResultBlock {
  const callId = block.requiredText('tool_use_id');
  const isError = block.boolean('is_error') ?? false;
  const cache = block.raw('cache_control');
  const content = block.content('content');
  const path = block.pathOf('content');
  block.leaveOutRest();
  return { kind: 'result', callId, isError, content: readResultContent(content, path, notes), cache, path: block.path };
}

function readResultContent(
  content: JsonSlice | null,
  path: string,
  notes: TranslationNotes,
): readonly (TextBlock | MediaBlock)[] {
  if (content === null) return [];
  if (content.kind === 'string') return [plainText(content.rawText!)];
  return content.items().flatMap((item, index) => {
    const block = new ReadMembers(item, `${path}[${index}]`, notes);
    const type = block.requiredText('type');
    switch (type) {
      case 'text':
        return [readText(block)];
      case 'image':
      case 'document':
        return readMedia(type, block, notes);
      case 'tool_reference': {
        const name = block.requiredRawText('tool_name');
        block.leaveOutRest();
        return [plainText(`Tool available: ${name}`)];
      }
      default:
        return notes.refuse(block.path, `has the unknown type ${JSON.stringify(type)}`);
    }
  });
}

/** Reads an image or a document. A text document becomes its text. */
function readMedia(
  type: 'image' | 'document',
  block: ReadMembers,
  notes: TranslationNotes,
): readonly (TextBlock | MediaBlock)[] {
  const source = block.object('source');
  if (source === null) return block.refuse('source', 'is missing');
  const form = source.requiredText('type');
  const cache = block.raw('cache_control');
  const name = block.rawText('title');
  const context = block.rawText('context');
  const citations = block.object('citations');
  if (citations?.boolean('enabled')) block.refuse('citations', 'asks for citations');
  const labels = [name, context].filter((label) => label !== null).map(plainText);
  const path = block.path;
  const detail = null;
  const named = { kind: 'media', name, detail, cache, path } as const;
  let blocks: readonly (TextBlock | MediaBlock)[];
  if (form === 'base64') {
    const mediaType = source.requiredText('media_type');
    const base64 = source.requiredRawText('data');
    if (type === 'document' && mediaType !== 'application/pdf') source.refuse('media_type', 'is no PDF');
    const media = { ...named, type: type === 'image' ? 'image' : 'pdf', source: { base64, mediaType } } as const;
    blocks = context === null ? [media] : [plainText(context), media];
  } else if (form === 'url' && type === 'image') {
    blocks = [{ ...named, type, source: { url: source.requiredRawText('url') } }];
  } else if (form === 'text' && type === 'document') {
    source.take('media_type');
    blocks = [...labels, { kind: 'text', text: source.requiredRawText('data'), cache }];
  } else if (form === 'content' && type === 'document') {
    if (cache !== null) block.leaveOut('cache_control');
    const content = source.content('content');
    blocks = [...labels, ...readResultContent(content, source.pathOf('content'), notes)];
  } else {
    return source.refuse('type', `names a ${type} of the form ${JSON.stringify(form)}, not its content`);
  }
  source.leaveOutRest();
  block.leaveOutRest();
  return blocks;
}

/** Whether a block is a call or a result of a tool that a provider ran. */
function isOfProviderTool(type: string): boolean {
  return type === 'server_tool_use' || type === 'mcp_tool_use' || type.endsWith('_tool_result');
}

/** A call that another provider ran becomes text, because this one has neither the tool nor its state. */
function readProviderTool(type: string, block: ReadMembers): readonly Block[] {
  const parts = [...block.rest()].filter(([name]) => !UNSAID.includes(name));
  const said = parts.map(([name, { raw }]) => `${name}: ${raw}`).join('\n');
  return [plainText(toRawText(`[${type}]\n${said}`))];
}

const UNSAID = ['id', 'tool_use_id', 'cache_control'];

function readReasoning(top: ReadMembers, output: ReadMembers | null): ReasoningSettings {
  const effort = output?.text('effort') ?? null;
  const thinking = top.object('thinking');
  if (thinking === null) return { effort, isOn: null, budgetTokens: null, isShown: true };
  const type = thinking.requiredText('type');
  const budgetTokens = thinking.count('budget_tokens');
  const isShown = thinking.text('display') !== 'omitted';
  thinking.leaveOutRest();
  return { effort, isOn: type !== 'disabled', budgetTokens, isShown };
}

/** `output_config.format`, or `output_format` of earlier clients. */
function readFormat(from: ReadMembers): OutputFormat | null {
  const name = from.path === '' ? 'output_format' : 'format';
  const format = from.object(name);
  if (format === null) return null;
  const type = format.requiredText('type');
  if (type !== 'json_schema') return format.refuse('type', 'is no known output format');
  const schema = format.raw('schema') ?? format.refuse('schema', 'is missing');
  format.leaveOutRest();
  return { type: 'schema', name: 'output', schema, description: null, strict: null, path: format.path };
}
