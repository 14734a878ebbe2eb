import { optionalMembers } from './client-members.ts';

/** Members other than optional ones that translations leave out, by the names that `TranslationNotes` lists. */
const LEFT_OUT = [
  ...['system', 'reasoning', 'temperature', 'top_p', 'stop', 'stop_sequences'],
  ...['max_tokens', 'max_completion_tokens', 'max_output_tokens'],
  ...['tools', 'tools[].strict', 'tools[].cache_control', 'tool_choice', 'web_search_options', 'mcp_servers[]'],
  ...['messages[].content[].cache_control', 'messages[].content[].thinking', 'messages[].name'],
  ...['context_management', 'diagnostics', 'inference_geo', 'client_metadata', 'truncation', 'background'],
];

const ADDED = ['tool_result', 'tool_use.input', 'reasoning_content', 'reasoning', 'cache_control'];

const LABELS: ReadonlySet<string> = new Set([
  ...Object.values(optionalMembers).flatMap((members) => members.map(({ path }) => path)),
  ...LEFT_OUT,
  ...ADDED,
]);

const OTHER = 'other';
const TOOL = /^tools\[\d+\](.*)$/;

/**
 * Returns the label of a member for metrics. Clients choose the names of members, so names that are in no list are `other`.
 * @param name as in the notes of a translation, such as `tools[8](web_search)`
 */
export function memberLabel(name: string): string {
  const inTool = TOOL.exec(name)?.[1];
  // The kind of a tool can be any text.
  const label = inTool === undefined ? name : inTool === '' || inTool.startsWith('(') ? 'tools' : `tools[]${inTool}`;
  return LABELS.has(label) ? label : OTHER;
}
