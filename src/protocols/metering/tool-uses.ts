import { isRecord } from '../../lib/json/json.ts';
import { readCount } from './usage-facts.ts';
import type { UnitName } from './usage-units.ts';

/** The units in which uses of a provider's tools are charged. */
export type ToolUnit = Extract<
  UnitName,
  'webSearches' | 'webFetches' | 'fileSearches' | 'codeExecutions' | 'containers' | 'otherToolUses'
>;

export type ToolUses = { readonly [Unit in ToolUnit]?: number };
type Counts = { [Unit in ToolUnit]?: number };

/** What vendors call the tools that they count, without `_requests` and `_calls` at the end. */
const UNIT_OF: Readonly<Record<string, ToolUnit>> = {
  web_search: 'webSearches',
  /** In DashScope's `plugins`. */
  search: 'webSearches',
  web_fetch: 'webFetches',
  web_extractor: 'webFetches',
  file_search: 'fileSearches',
  document_search: 'fileSearches',
  retrieval: 'fileSearches',
  code_execution: 'codeExecutions',
  code_interpreter: 'codeExecutions',
};
const COUNTED = /^(.+)_(?:requests|calls)$/;

/** The unit of a tool, by what its vendor calls it. */
export function toolUnit(tool: string): ToolUnit {
  return Object.hasOwn(UNIT_OF, tool) ? UNIT_OF[tool]! : 'otherToolUses';
}

/** OpenRouter's count of all tools together that it ran; those that have a count of their own are in it. */
const EXECUTED = 'tool_calls_executed';

/** The uses of tools that an object counts by the name of the tool; `null` if there is no such object. */
export function readToolUses(counts: unknown): ToolUses | null {
  if (!isRecord(counts)) return null;
  const uses: Counts = {};
  let named = 0;
  for (const [name, value] of Object.entries(counts)) {
    const tool = COUNTED.exec(name)?.[1];
    const count = readCount(value);
    if (tool === undefined || count == null) continue;
    add(uses, toolUnit(tool), count);
    named += count;
  }
  const others = (readCount(counts[EXECUTED]) ?? 0) - named;
  if (others > 0) add(uses, 'otherToolUses', others);
  return uses;
}

/** The uses of tools that a usage object counts. */
interface ReportedUses {
  /** A tool that is counted as zero is there too. */
  readonly uses: ToolUses;
  /** Whether its vendor counts every tool, so that those that are not there were not used. */
  readonly areAll: boolean;
}

/**
 * The uses that a usage object counts in members of its own vendor, in the spellings of chat and responses; `null` where it
 * counts none. If a relay states a use in several spellings, the greatest count is taken.
 */
export function reportedToolUses(usage: Readonly<Record<string, unknown>>): ReportedUses | null {
  // Nearly all calls; the rest of this function would be most of what reading their usage takes.
  if (MEMBERS_WITH_USES.every((member) => usage[member] === undefined)) return null;
  // OpenRouter; xAI.
  const all = [readToolUses(usage.server_tool_use), readToolUses(usage.server_side_tool_usage_details)];
  const some = [
    // DashScope, in chat and in responses.
    readCountsOf(usage.plugins, (tool) => (isRecord(tool) ? tool.count : null)),
    readCountsOf(usage.x_tools, (tool) => (isRecord(tool) ? tool.count : null)),
    // Volcengine Ark.
    readCountsOf(usage.tool_usage, (count) => count),
    // Perplexity.
    readCountsOf({ web_search: usage.num_search_queries }, (count) => count),
  ];
  const areAll = all.some((uses) => uses !== null);
  const uses: Counts = {};
  for (const counts of [...all, ...some]) {
    for (const [unit, count] of Object.entries(counts ?? {}) as [ToolUnit, number][]) {
      uses[unit] = Math.max(uses[unit] ?? 0, count);
    }
  }
  return areAll || Object.keys(uses).length > 0 ? { uses, areAll } : null;
}

/** Those that are read above. */
const MEMBERS_WITH_USES = [
  ...['server_tool_use', 'server_side_tool_usage_details'],
  ...['plugins', 'x_tools', 'tool_usage', 'num_search_queries'],
];

function readCountsOf(tools: unknown, countOf: (tool: unknown) => unknown): ToolUses | null {
  if (!isRecord(tools)) return null;
  const uses: Counts = {};
  for (const [name, tool] of Object.entries(tools)) {
    const count = readCount(countOf(tool));
    if (count != null) add(uses, toolUnit(name), count);
  }
  return uses;
}

function add(uses: Counts, unit: ToolUnit, count: number): void {
  uses[unit] = (uses[unit] ?? 0) + count;
}

/** Counts uses that a response shows, each once however often it is shown. */
export class ShownUses {
  readonly #seen = new Map<string, ToolUnit>();

  /** `place`: what tells this use from others of the response. */
  note(place: string, unit: ToolUnit): void {
    this.#seen.set(place, unit);
  }

  /** What was noted there did not take place. */
  forget(place: string): void {
    this.#seen.delete(place);
  }

  counts(): ToolUses {
    const uses: Counts = {};
    for (const unit of this.#seen.values()) add(uses, unit, 1);
    return uses;
  }
}
