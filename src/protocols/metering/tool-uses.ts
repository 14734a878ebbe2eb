import { isRecord } from '../../lib/json.ts';
import { readCount } from './usage-facts.ts';
import type { UnitName } from './usage-units.ts';

/** The units in which uses of a provider's tools are charged. */
export type ToolUnit = Extract<
  UnitName,
  'webSearches' | 'webFetches' | 'fileSearches' | 'codeExecutions' | 'containers' | 'otherToolUses'
>;

export type ToolUses = { readonly [Unit in ToolUnit]?: number };

/** What vendors call the tools that they count, without `_requests` and `_calls` at the end. */
const UNIT_OF: Readonly<Record<string, ToolUnit>> = {
  web_search: 'webSearches',
  web_fetch: 'webFetches',
  file_search: 'fileSearches',
  document_search: 'fileSearches',
  code_execution: 'codeExecutions',
  code_interpreter: 'codeExecutions',
};
const COUNTED = /^(.+)_(?:requests|calls)$/;

/** OpenRouter's count of all tools together that it ran; those that have a count of their own are in it. */
const EXECUTED = 'tool_calls_executed';

/** The uses of tools that an object counts by the name of the tool; `null` where there is no such object. */
export function readToolUses(counts: unknown): ToolUses | null {
  if (!isRecord(counts)) return null;
  const uses: { [Unit in ToolUnit]?: number } = {};
  let named = 0;
  for (const [name, value] of Object.entries(counts)) {
    const tool = COUNTED.exec(name)?.[1];
    const count = readCount(value) ?? 0;
    if (tool === undefined || count === 0) continue;
    const unit = Object.hasOwn(UNIT_OF, tool) ? UNIT_OF[tool]! : 'otherToolUses';
    uses[unit] = (uses[unit] ?? 0) + count;
    named += count;
  }
  const others = (readCount(counts[EXECUTED]) ?? 0) - named;
  if (others > 0) uses.otherToolUses = (uses.otherToolUses ?? 0) + others;
  return uses;
}
