import { isRecord } from '../../lib/json/json.ts';
import { reportedToolUses, type ToolUses, toolUnit } from '../metering/tool-uses.ts';
import { readCount } from '../metering/usage-facts.ts';

export interface ContainerUse {
  /** Ids of containers in the request. They were charged when they were created. */
  readonly named: readonly string[];
  /** Whether the call continues state with containers that the request does not name; they look like new ones. */
  readonly mayContinue: boolean;
  readonly offersTools: boolean;
}

export const NO_CONTAINERS: ContainerUse = { named: [], mayContinue: false, offersTools: false };

/** Types of tool calls that the client runs. */
const CLIENT_CALLS: readonly unknown[] = [
  'function_call',
  'custom_tool_call',
  'local_shell_call',
  'apply_patch_call',
  'computer_call',
];

const CALL = '_call';
const RESULTS = '_results';
const OWNED = 'openrouter:';
/** Custom tools by which xAI reports searches of X. */
const SEARCH_OF_X = /^x_(?:keyword|semantic|user)_search$|^x_thread_fetch$/;

type Item = Readonly<Record<string, unknown>>;

/** Returns the items of tools that the provider has run: calls and, at Perplexity, results. */
export function serverToolCalls(output: unknown): readonly Item[] {
  if (!Array.isArray(output)) return [];
  return output.filter((item: unknown): item is Item => isRecord(item) && toolOf(item) !== null);
}

/** Returns the vendor's name of the tool that an item is about; `null` if the provider has run none. */
function toolOf(item: Item): string | null {
  const { type, name, execution } = item;
  if (typeof type !== 'string' || execution === 'client') return null;
  if (type === 'custom_tool_call') return typeof name === 'string' && SEARCH_OF_X.test(name) ? 'x_search' : null;
  if (type.endsWith(CALL)) return CLIENT_CALLS.includes(type) ? null : type.slice(0, -CALL.length);
  if (type.endsWith(RESULTS)) return type.slice(0, -RESULTS.length);
  return type.startsWith(OWNED) ? type : null;
}

const NO_ROUNDS: readonly unknown[] = [
  ...CLIENT_CALLS,
  ...['message', 'reasoning', 'compaction', 'item_reference', 'mcp_list_tools', 'mcp_approval_request'],
];

export function roundsOf(output: unknown): number {
  return Array.isArray(output) ? output.filter((item: unknown) => isRecord(item) && isRound(item)).length : 0;
}

function isRound(item: Item): boolean {
  const { type, execution } = item;
  if (toolOf(item) !== null) return true;
  return typeof type === 'string' && execution !== 'client' && !NO_ROUNDS.includes(type) && !type.endsWith(OUTPUT);
}

const OUTPUT = '_output';

/** Returns the tool uses that are billed. Counts of the provider take precedence over items, because some uses are free of charge. */
export function billedToolUses(response: Item, usage: Item, containerUse: ContainerUse): ToolUses {
  const { server_side_tool_usage } = response;
  const reported = reportedToolUses(isRecord(server_side_tool_usage) ? { server_side_tool_usage, ...usage } : usage);
  if (reported?.areAll) return reported.uses;
  const uses = { webSearches: 0, webFetches: 0, fileSearches: 0, codeExecutions: 0, containers: 0, otherToolUses: 0 };
  const containers = new Set<string>();
  const calls = serverToolCalls(response.output);
  if (!containerUse.offersTools && calls.length === 0 && citesPages(response.output)) uses.webSearches = 1;
  for (const item of calls) {
    if (item.status === 'failed') continue;
    const containerId = containerOf(item);
    if (containerId !== null) containers.add(containerId);
    const tool = toolOf(item)!;
    switch (tool) {
      case 'shell':
        // A shell without a container runs at the client.
        if (containerId !== null) uses.codeExecutions++;
        break;
      case 'image_generation':
        // Image generation is not counted, because its image tokens are billed instead.
        break;
      default: {
        const unit = toolUnit(tool);
        if (unit !== 'webSearches' || isSearch(item.action)) uses[unit]++;
      }
    }
  }
  for (const id of containerUse.named) containers.delete(id);
  if (!containerUse.mayContinue) uses.containers = containers.size;
  const webSearch = isRecord(response.tool_usage) ? response.tool_usage.web_search : null;
  const billed = isRecord(webSearch) ? readCount(webSearch.num_requests) : null;
  const named = { ...uses, ...reported?.uses };
  // A vendor may count only some of the tools that have no unit of their own, so the greater number applies.
  const others = Math.max(uses.otherToolUses, named.otherToolUses);
  return { ...named, otherToolUses: others, ...(billed != null && { webSearches: billed }) };
}

/** Whether an action is billed as a search. Opening a page, finding text in it, and empty searches, which xAI reports, are not. */
export function isSearch(action: unknown): boolean {
  if (!isRecord(action) || action.type === undefined) return true;
  return action.type === 'search' && !(action.query === '' && action.queries === undefined);
}

/** Whether the text cites web pages. If no tool was offered, a plugin or the model itself has searched; this counts as one search. */
export function citesPages(output: unknown): boolean {
  return listOf(output).some(
    (item) =>
      isRecord(item) &&
      listOf(item.content).some((part) => isRecord(part) && listOf(part.annotations).some(isCitation)),
  );
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

function isCitation(annotation: unknown): boolean {
  return isRecord(annotation) && annotation.type === 'url_citation';
}

function containerOf(item: Item): string | null {
  const place = isRecord(item.environment) ? item.environment : item;
  const id = place.container_id;
  return typeof id === 'string' && id !== '' ? id : null;
}
