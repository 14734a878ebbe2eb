import type { Block, CallBlock, MediaBlock, ResultBlock, TextBlock, ToolForm, Turn } from './conversation.ts';
import { sourceOf } from './media-sources.ts';
import { ReadMembers } from './members.ts';
import type { TranslationNotes } from './notes.ts';
import { toRawText } from './raw-text.ts';
import { pdfOf } from './read-chat.ts';

/** Calls that the client runs: their form, and the member with their input. */
const CALLS: Readonly<Record<string, { readonly form: ToolForm; readonly input: string }>> = {
  function_call: { form: 'function', input: 'arguments' },
  custom_tool_call: { form: 'custom', input: 'input' },
  local_shell_call: { form: 'shell', input: 'action' },
  tool_search_call: { form: 'search', input: 'arguments' },
};

const RESULTS: Readonly<Record<string, string>> = {
  function_call_output: 'output',
  custom_tool_call_output: 'output',
  local_shell_call_output: 'output',
  tool_search_output: 'tools',
};

/** Names at the provider of tools that have no name in the responses protocol. */
export const SHELL_NAME = 'local_shell';
export const SEARCH_NAME = 'tool_search';

/** Reads an item of `input` as a turn of one or more blocks; `null` if it has no content of its own. */
export function readInputItem(item: ReadMembers, notes: TranslationNotes): Turn | null {
  const type = item.text('type') ?? 'message';
  // The ids of items are for storage, and their status is known from the conversation.
  const id = type === 'item_reference' ? null : item.text('id');
  item.take('status');
  const { path } = item;
  if (type === 'message') return readMessage(item, notes);
  if (type === 'agent_message') return { role: 'user', blocks: [readAgentMessage(item, notes)], path };
  if (SETTINGS.includes(type)) return readSetting(type, item, notes);
  if (type === 'reasoning') return { role: 'assistant', blocks: readReasoning(item), path };
  const call = CALLS[type];
  if (call !== undefined) return { role: 'assistant', blocks: [readCall(item, call)], path };
  const result = RESULTS[type];
  if (result !== undefined) return { role: 'user', blocks: [readResult(item, { member: result, id }, notes)], path };
  if (isOfProvider(type)) {
    const said = [...item.rest()].map(([name, { raw }]) => `${name}: ${raw}`).join('\n');
    const text = toRawText(`[${type}]\n${said}`);
    return { role: 'assistant', blocks: [{ kind: 'text', text, cache: null }], path };
  }
  const reason = type === 'item_reference' ? REFERENCE : `has the unknown value ${JSON.stringify(type)}`;
  return item.refuse('type', reason);
}

/** Items that change the request from their place on: its tools, which are read with those of the request, or its reasoning. */
const SETTINGS = ['additional_tools', 'configuration_update'];

function readSetting(type: string, item: ReadMembers, notes: TranslationNotes): null {
  for (const name of ['role', 'tools']) item.take(name);
  if (type === 'configuration_update') notes.leaveOut(`${item.path}(${type})`);
  else item.leaveOutRest();
  return null;
}

const REFERENCE = 'refers to an item that is not stored. Send the item itself, with "store": false';

/** Whether an item is a call that a provider ran, such as `web_search_call`. */
function isOfProvider(type: string): boolean {
  return PROVIDER_CALLS.includes(type);
}

const PROVIDER_CALLS = [
  'web_search_call',
  'file_search_call',
  'code_interpreter_call',
  'mcp_call',
  'mcp_list_tools',
  'mcp_approval_request',
  'mcp_approval_response',
];

const ROLES = { user: 'user', system: 'system', developer: 'system', assistant: 'assistant' } as const;

function readMessage(item: ReadMembers, notes: TranslationNotes): Turn {
  const named = item.requiredText('role');
  const role = Object.hasOwn(ROLES, named)
    ? ROLES[named as keyof typeof ROLES]
    : item.refuse('role', 'is no known role');
  const content = item.content('content');
  const path = item.pathOf('content');
  item.leaveOutRest();
  if (content === null) return { role, blocks: [], path: item.path };
  if (content.kind === 'string') {
    return { role, blocks: [{ kind: 'text', text: content.rawText!, cache: null }], path: item.path };
  }
  const blocks = content
    .items()
    .flatMap((part, index): readonly Block[] => readPart(new ReadMembers(part, `${path}[${index}]`, notes)));
  return { role, blocks, path: item.path };
}

function readPart(part: ReadMembers): readonly Block[] {
  const type = part.requiredText('type');
  if (type === 'refusal') {
    const text = part.requiredRawText('refusal');
    part.leaveOutRest();
    return [{ kind: 'refusal', text }];
  }
  return readContentPart(type, part);
}

/**
 * Reads a message between agents of Codex as one text, which names both. Its payload is called encrypted, but it is what the model wrote in a
 * call: only the vendor of Codex encrypts it, and only that vendor can read it then.
 */
function readAgentMessage(item: ReadMembers, notes: TranslationNotes): TextBlock {
  const texts = item.items('content').map((each, index) => {
    const part = new ReadMembers(each, `${item.pathOf('content')}[${index}]`, notes);
    const type = part.requiredText('type');
    const text = part.requiredRawText(type === 'encrypted_content' ? type : 'text');
    if (type === 'encrypted_content' && ENCRYPTED.test(text)) part.refuse(type, 'is encrypted by another provider');
    part.leaveOutRest();
    return text;
  });
  for (const name of ['author', 'recipient']) item.take(name);
  item.leaveOutRest();
  return { kind: 'text', text: texts.join(''), cache: null };
}

/** Beginning of what the vendor of Codex encrypted. */
const ENCRYPTED = /^gAAAA/;

/** Parts that are in messages as well as in outputs of tools. */
function readContentPart(type: string, part: ReadMembers): readonly (TextBlock | MediaBlock)[] {
  const { path } = part;
  switch (type) {
    case 'input_text':
    case 'output_text':
    case 'text': {
      const text = part.requiredRawText('text');
      for (const name of ['annotations', 'logprobs']) part.take(name);
      part.leaveOutRest();
      return [{ kind: 'text', text, cache: null }];
    }
    case 'input_image': {
      const url =
        part.rawText('image_url') ?? part.refuse('image_url', 'is missing, and a file by its id belongs to one vendor');
      const detail = part.raw('detail');
      part.leaveOutRest();
      return [{ kind: 'media', type: 'image', source: sourceOf(url), name: null, detail, cache: null, path }];
    }
    case 'input_file': {
      const data =
        part.rawText('file_data') ??
        part.refuse('file_data', 'is missing, and a file by its id or URL belongs to one vendor');
      const name = part.rawText('filename');
      const file = pdfOf(data, { name, cache: null, path }, part);
      part.leaveOutRest();
      return [file];
    }
    default:
      return part.refuse('type', `has the unknown value ${JSON.stringify(type)}`);
  }
}

/** Reads reasoning: what the client shows of it, and the carrier. */
function readReasoning(item: ReadMembers): readonly Block[] {
  const parts = [...item.items('content'), ...item.items('summary')];
  const texts = parts.flatMap((part) => part.members().get('text')?.rawText ?? []).filter((text) => text !== '');
  const carrier = item.text('encrypted_content');
  item.leaveOutRest();
  return [{ kind: 'reasoning', text: texts.length === 0 ? null : texts.join('\\n\\n'), carrier }];
}

function readCall(item: ReadMembers, { form, input: member }: { form: ToolForm; input: string }): CallBlock {
  const id = item.requiredText('call_id');
  const name = form === 'shell' ? SHELL_NAME : form === 'search' ? SEARCH_NAME : item.requiredText('name');
  const namespace = item.text('namespace');
  const input = item.take(member);
  item.take('execution');
  item.leaveOutRest();
  return {
    kind: 'call',
    id,
    form,
    name,
    namespace,
    input: input?.text ?? input?.raw ?? '',
    cache: null,
    path: item.path,
  };
}

/** Results of `local_shell` name their call by `id`. */
function readResult(
  item: ReadMembers,
  { member, id }: { readonly member: string; readonly id: string | null },
  notes: TranslationNotes,
): ResultBlock {
  const callId = item.text('call_id') ?? id ?? item.requiredText('call_id');
  const output = item.content(member);
  const path = item.pathOf(member);
  item.take('execution');
  item.leaveOutRest();
  const base = { kind: 'result', callId, isError: false, cache: null, path: item.path } as const;
  if (output === null) return { ...base, content: [] };
  if (output.kind === 'string') return { ...base, content: [{ kind: 'text', text: output.rawText!, cache: null }] };
  if (member === 'tools') {
    const text = toRawText(`Tools available: ${output.raw}`);
    return { ...base, content: [{ kind: 'text', text, cache: null }] };
  }
  const content = output.items().flatMap((item, index) => {
    const part = new ReadMembers(item, `${path}[${index}]`, notes);
    return readContentPart(part.requiredText('type'), part);
  });
  return { ...base, content };
}
