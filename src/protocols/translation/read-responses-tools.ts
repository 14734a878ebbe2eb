import type { JsonSlice } from '../../lib/json/json-slice.ts';
import { toolFamily, toolRule } from '../tools.ts';
import type { Tool } from './conversation.ts';
import { ReadMembers } from './members.ts';
import type { TranslationNotes } from './notes.ts';
import type { ProviderTool } from './provider-tools.ts';
import { SEARCH_NAME, SHELL_NAME } from './read-responses-items.ts';

const SHELL_DESCRIPTION = 'Runs a command on the local machine.';
const SHELL_SCHEMA =
  '{"type":"object","properties":{"type":{"type":"string","enum":["exec"]},"command":{"type":"array","items":{"type":"string"}},' +
  '"timeout_ms":{"type":"integer"},"working_directory":{"type":"string"},"env":{"type":"object"}},"required":["type","command"]}';

interface ReadTools {
  readonly offered: readonly Tool[];
  readonly ofProvider: readonly ProviderTool[];
}

interface ReadToolLists extends ReadTools {
  readonly offered: Tool[];
  readonly ofProvider: ProviderTool[];
}

/**
 * Reads the tools of a responses client: those of the request, and those that items of its input add. Tools of a namespace stand for
 * themselves, with the namespace in their names.
 */
export function readResponsesTools(top: ReadMembers, input: readonly JsonSlice[], notes: TranslationNotes): ReadTools {
  const { offered, ofProvider } = readTools(top.items('tools'), 'tools', notes);
  for (const [index, item] of input.entries()) {
    const members = item.kind === 'object' ? item.members() : null;
    const tools = members?.get('tools');
    if (tools?.kind !== 'array' || !ADDING.includes(members?.get('type')?.text ?? '')) continue;
    const added = readTools(tools.items(), `input[${index}].tools`, notes);
    for (const tool of added.offered) offer(tool, offered);
    ofProvider.push(...added.ofProvider);
  }
  return { offered, ofProvider };
}

/** Items that add tools: those that Codex declares in its input, and those that its search found. */
const ADDING = ['additional_tools', 'tool_search_output'];

/** Adds a tool, in place of an earlier definition of the same one. */
function offer(tool: Tool, offered: Tool[]): void {
  const place = offered.findIndex(({ name, namespace }) => name === tool.name && namespace === tool.namespace);
  if (place === -1) offered.push(tool);
  else offered[place] = tool;
}

function readTools(items: readonly JsonSlice[], path: string, notes: TranslationNotes): ReadToolLists {
  const offered: Tool[] = [];
  const ofProvider: ProviderTool[] = [];
  for (const [index, item] of items.entries()) {
    const tool = new ReadMembers(item, `${path}[${index}]`, notes);
    const type = tool.requiredText('type');
    if (type === 'function' || type === 'custom') offered.push(readTool(tool, type, null));
    else if (type === 'namespace') offered.push(...readNamespace(tool, notes));
    else if (type === 'local_shell') offered.push(shellTool(tool.path));
    else if (type === 'tool_search' && tool.text('execution') === 'client') offered.push(searchTool(tool));
    else if (toolRule(type)?.runs === 'client') tool.refuse('type', `names the tool ${JSON.stringify(type)}`);
    else ofProvider.push({ path: tool.path, kind: toolFamily(type), name: type });
  }
  return { offered, ofProvider };
}

function readTool(tool: ReadMembers, form: 'function' | 'custom', namespace: string | null): Tool {
  const read: Tool = {
    form,
    name: tool.requiredText('name'),
    namespace,
    description: tool.rawText('description'),
    schema: tool.raw('parameters'),
    format: form === 'custom' ? tool.raw('format') : null,
    strict: tool.boolean('strict'),
    cache: null,
    path: tool.path,
  };
  tool.leaveOutRest();
  return read;
}

function readNamespace(tool: ReadMembers, notes: TranslationNotes): readonly Tool[] {
  const namespace = tool.requiredText('name');
  const inner = tool.items('tools');
  const path = tool.pathOf('tools');
  tool.leaveOutRest();
  return inner.map((item: JsonSlice, index) => {
    const each = new ReadMembers(item, `${path}[${index}]`, notes);
    return readTool(each, each.text('type') === 'custom' ? 'custom' : 'function', namespace);
  });
}

function shellTool(path: string): Tool {
  return {
    form: 'shell',
    name: SHELL_NAME,
    namespace: null,
    description: SHELL_DESCRIPTION,
    schema: SHELL_SCHEMA,
    format: null,
    strict: null,
    cache: null,
    path,
  };
}

function searchTool(tool: ReadMembers): Tool {
  return {
    form: 'search',
    name: SEARCH_NAME,
    namespace: null,
    description: tool.rawText('description'),
    schema: tool.raw('parameters'),
    format: null,
    strict: null,
    cache: null,
    path: tool.path,
  };
}
