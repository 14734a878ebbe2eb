import { toolFamily, toolRule } from '../tools.ts';
import type { Tool, ToolChoice } from './conversation.ts';
import { ReadMembers } from './members.ts';
import type { TranslationNotes } from './notes.ts';
import type { ProviderTool } from './provider-tools.ts';

interface ReadTools {
  readonly offered: readonly Tool[];
  readonly ofProvider: readonly ProviderTool[];
}

/** Reads the tools of a messages client, and those that only some providers run. */
export function readMessagesTools(top: ReadMembers, notes: TranslationNotes): ReadTools {
  const offered: Tool[] = [];
  const ofProvider: ProviderTool[] = [];
  for (const [index, item] of top.items('tools').entries()) {
    const tool = new ReadMembers(item, `tools[${index}]`, notes);
    const type = tool.text('type');
    const name = tool.text('name');
    if (type !== null && type !== 'custom') {
      if (toolRule(type)?.runs !== 'provider') tool.refuse('type', `names the tool ${JSON.stringify(type)}`);
      ofProvider.push({ path: tool.path, kind: toolFamily(type), name: name ?? type });
      continue;
    }
    if (name === null) return tool.refuse('name', 'is missing');
    const description = tool.rawText('description');
    const schema = tool.raw('input_schema');
    const strict = tool.boolean('strict');
    const cache = tool.raw('cache_control');
    tool.leaveOutRest();
    const { path } = tool;
    offered.push({ form: 'function', name, namespace: null, description, schema, format: null, strict, cache, path });
  }
  for (const [index] of top.items('mcp_servers').entries()) {
    ofProvider.push({ path: `mcp_servers[${index}]`, kind: '', name: 'mcp' });
  }
  return { offered, ofProvider };
}

export function readMessagesToolChoice(top: ReadMembers): { choice: ToolChoice | null; parallelCalls: boolean | null } {
  const choice = top.object('tool_choice');
  if (choice === null) return { choice: null, parallelCalls: null };
  const isSerial = choice.boolean('disable_parallel_tool_use');
  const parallelCalls = isSerial === null ? null : !isSerial;
  const type = choice.requiredText('type');
  const name = choice.text('name');
  choice.leaveOutRest();
  switch (type) {
    case 'auto':
    case 'none':
      return { choice: { type }, parallelCalls };
    case 'any':
      return { choice: { type: 'required' }, parallelCalls };
    case 'tool':
      return { choice: { type: 'tool', name: name ?? choice.refuse('name', 'is missing') }, parallelCalls };
    default:
      return choice.refuse('type', 'is no known choice');
  }
}
