import { isRecord } from '../../lib/json/json.ts';
import { readCount } from './usage-facts.ts';
import { TOOL_USES_MAX, type UnitName } from './usage-units.ts';

export type ToolUnit = Extract<
  UnitName,
  'webSearches' | 'webFetches' | 'fileSearches' | 'codeExecutions' | 'containers' | 'otherToolUses'
>;

export type ToolUses = { readonly [Unit in ToolUnit]?: number };
type Counts = { [Unit in ToolUnit]?: number };

const UNIT_OF: Readonly<Record<string, ToolUnit>> = {
  web_search: 'webSearches',
  web_search_preview: 'webSearches',
  // Name at DashScope (`plugins`) and Groq.
  search: 'webSearches',
  'browser.search': 'webSearches',
  browser_search: 'webSearches',
  // Name at Perplexity.
  search_web: 'webSearches',
  fetch_url: 'webFetches',
  fetch_url_content: 'webFetches',
  web_fetch: 'webFetches',
  web_extractor: 'webFetches',
  // Name at Groq.
  visit: 'webFetches',
  visit_website: 'webFetches',
  'browser.open': 'webFetches',
  python: 'codeExecutions',
  file_search: 'fileSearches',
  document_search: 'fileSearches',
  retrieval: 'fileSearches',
  code_execution: 'codeExecutions',
  code_interpreter: 'codeExecutions',
};
const COUNTED = /^(.+)_(?:requests|calls)$/;
/** Prefixes of tool names at OpenRouter and xAI. */
const OWNER = /^(?:openrouter:|server_side_tool_)/;

/** Returns the unit of a tool by the vendor's name for it, which can end like a count. */
export function toolUnit(tool: string): ToolUnit {
  const name = tool.toLowerCase().replace(OWNER, '');
  const counted = COUNTED.exec(name)?.[1] ?? name;
  return Object.hasOwn(UNIT_OF, counted) ? UNIT_OF[counted]! : 'otherToolUses';
}

/** OpenRouter's number of all tool calls that ran, including those with counts of their own. */
const EXECUTED = 'tool_calls_executed';

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

/** OpenRouter's number of tool calls that the model asked for, whether or not they ran. */
const REQUESTED = 'tool_calls_requested';

interface ReportedUses {
  /** Number of uses by unit; zeros are included. */
  readonly uses: ToolUses;
  /** Whether the counts cover every tool. */
  readonly areAll: boolean;
}

interface CountingMember {
  read(value: unknown): ToolUses | null;
  reads(name: string, value: unknown): boolean;
  readonly areAll: boolean;
}

const byTool = (countOf: (tool: unknown) => unknown): CountingMember => ({
  read: (tools) => readCountsOf(tools, countOf),
  reads: (_name, tool) => readCount(countOf(tool)) != null,
  areAll: false,
});
const requests: CountingMember = {
  read: readToolUses,
  reads: (name) => COUNTED.test(name) || name === EXECUTED || name === REQUESTED,
  areAll: true,
};
const search = (countOf: (value: unknown) => unknown): CountingMember => ({
  read: (value) => readCountsOf({ web_search: countOf(value) }, (count) => count),
  reads: () => true,
  areAll: false,
});

const MEMBERS: Readonly<Record<string, CountingMember>> = {
  // OpenRouter's members.
  server_tool_use: requests,
  server_tool_use_details: requests,
  // xAI's members.
  server_side_tool_usage_details: requests,
  server_side_tool_usage: byTool((count) => count),
  // DashScope's member, in chat and responses.
  plugins: byTool((tool) => (isRecord(tool) ? tool.count : null)),
  x_tools: byTool((tool) => (isRecord(tool) ? tool.count : null)),
  // Volcengine Ark's member.
  tool_usage: byTool((count) => count),
  // Perplexity's member: tool uses of an agent, queries of a research call, or the context size of a single search.
  tool_calls_details: { ...byTool((tool) => (isRecord(tool) ? tool.invocation : tool)), areAll: true },
  num_search_queries: search((count) => count),
  search_context_size: search((size) => (typeof size === 'string' && size !== '' ? 1 : null)),
};
export const COUNTING_MEMBERS: readonly string[] = Object.keys(MEMBERS);

/** Member of the input details in which LiteLLM reports the number of searches, for every vendor. */
const SEARCHES = 'web_search_requests';
const searchesIn = ({ prompt_tokens_details: details }: Readonly<Record<string, unknown>>): unknown =>
  isRecord(details) ? details[SEARCHES] : undefined;

export function countsToolUses(member: string): boolean {
  return Object.hasOwn(MEMBERS, member);
}

export function readsToolCount(member: string, name: string, value: unknown): boolean {
  return countsToolUses(member) && MEMBERS[member]!.reads(name, value);
}

/** Reads tool counts of chat or responses usage; `null` if it has none. Of several names for a use, the greatest count applies. */
export function reportedToolUses(usage: Readonly<Record<string, unknown>>): ReportedUses | null {
  // Fast path for nearly all calls: the code below would take most of the time of reading usage.
  const searches = readCount(searchesIn(usage));
  let counts = searches != null;
  for (const name of COUNTING_MEMBERS) counts ||= usage[name] !== undefined;
  if (!counts) return null;
  const uses: Counts = searches == null ? {} : { webSearches: searches };
  let areAll = false;
  for (const name of COUNTING_MEMBERS) {
    const member = MEMBERS[name]!;
    const read = member.read(usage[name]);
    areAll ||= member.areAll && read !== null;
    for (const [unit, count] of Object.entries(read ?? {}) as [ToolUnit, number][]) {
      uses[unit] = Math.max(uses[unit] ?? 0, count);
    }
  }
  return areAll || Object.keys(uses).length > 0 ? { uses, areAll } : null;
}

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

/** Counts tool uses in a response: each one once, and at most `TOOL_USES_MAX`. */
export class ShownUses {
  readonly #seen = new Map<string, ToolUnit>();

  note(place: string, unit: ToolUnit): void {
    if (this.#seen.size < TOOL_USES_MAX) this.#seen.set(place.slice(0, PLACE_CHARACTERS_MAX), unit);
  }

  forget(place: string): void {
    this.#seen.delete(place.slice(0, PLACE_CHARACTERS_MAX));
  }

  counts(): ToolUses {
    const uses: Counts = {};
    for (const unit of this.#seen.values()) add(uses, unit, 1);
    return uses;
  }
}

/** Maximum length of an id that identifies a use. Vendors' ids are shorter. */
const PLACE_CHARACTERS_MAX = 256;
