import { isRecord } from '../../lib/json/json.ts';
import { reportedToolUses, type ToolUses, toolUnit } from '../metering/tool-uses.ts';
import { readCount } from '../metering/usage-facts.ts';

/** The uses of the provider's tools that a response of the responses protocol shows in its items and its counts. */

/** What a request says about the tools of its provider, and the containers in which they run. */
export interface ContainerUse {
  /** The ids that the request names: these containers were made, and charged, before. */
  readonly named: readonly string[];
  /** The call continues state in which there may be others, which cannot be told from new ones. */
  readonly mayContinue: boolean;
  /** It offers tools that the provider runs, which show their calls. */
  readonly offersTools: boolean;
}

export const NO_CONTAINERS: ContainerUse = { named: [], mayContinue: false, offersTools: false };

/** Tool calls that the caller runs itself, with the result in its next request. */
const CLIENT_CALLS: readonly unknown[] = [
  'function_call',
  'custom_tool_call',
  'local_shell_call',
  'apply_patch_call',
  'computer_call',
];

const CALL = '_call';
const RESULTS = '_results';
/** OpenRouter: its tools have no other name in items. */
const OWNED = 'openrouter:';
/** xAI shows the searches of X as calls of custom tools. */
const SEARCH_OF_X = /^x_(?:keyword|semantic|user)_search$|^x_thread_fetch$/;

type Item = Readonly<Record<string, unknown>>;

/** The items of tools that the provider ran: calls, and at Perplexity what they found. */
export function serverToolCalls(output: unknown): readonly Item[] {
  if (!Array.isArray(output)) return [];
  return output.filter((item: unknown): item is Item => isRecord(item) && toolOf(item) !== null);
}

/** The tool of an item, as its vendor calls it; `null`: the item shows no tool that the provider ran. */
function toolOf(item: Item): string | null {
  const { type, name, execution } = item;
  if (typeof type !== 'string' || execution === 'client') return null;
  if (type === 'custom_tool_call') return typeof name === 'string' && SEARCH_OF_X.test(name) ? 'x_search' : null;
  if (type.endsWith(CALL)) return CLIENT_CALLS.includes(type) ? null : type.slice(0, -CALL.length);
  if (type.endsWith(RESULTS)) return type.slice(0, -RESULTS.length);
  return type.startsWith(OWNED) ? type : null;
}

/** Items that show no further run of the model: what it wrote, what the caller runs, lists and questions of MCP servers. */
const NO_ROUNDS: readonly unknown[] = [
  ...CLIENT_CALLS,
  ...['message', 'reasoning', 'compaction', 'item_reference', 'mcp_list_tools', 'mcp_approval_request'],
];

/** How often a provider ran a tool, by the items of a response: also by those whose tool is not known. */
export function roundsOf(output: unknown): number {
  return Array.isArray(output) ? output.filter((item: unknown) => isRecord(item) && isRound(item)).length : 0;
}

function isRound(item: Item): boolean {
  const { type, execution } = item;
  if (toolOf(item) !== null) return true;
  return typeof type === 'string' && execution !== 'client' && !NO_ROUNDS.includes(type) && !type.endsWith(OUTPUT);
}

/** The output of a call, which is another item. */
const OUTPUT = '_output';

/** The uses that are billed. The provider's own counts go before those of items: some uses are free of charge. */
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
        // Without a container the caller runs it.
        if (containerId !== null) uses.codeExecutions++;
        break;
      case 'image_generation':
        // Billed by the tokens of its images.
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
  // Of tools that have no unit of their own, a vendor may count some alone.
  const others = Math.max(uses.otherToolUses, named.otherToolUses);
  return { ...named, otherToolUses: others, ...(billed != null && { webSearches: billed }) };
}

/** Opening a page, and finding something in it, is not billed as a search; nor is a search for nothing, which xAI shows. */
export function isSearch(action: unknown): boolean {
  if (!isRecord(action) || action.type === undefined) return true;
  return action.type === 'search' && !(action.query === '' && action.queries === undefined);
}

/**
 * Whether the text cites pages of the web. If the request offers no tool and the response shows none, a plugin of the provider
 * or its model itself has searched: one search for all of them.
 */
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
