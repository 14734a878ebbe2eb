import { isRecord } from '../../lib/json/json.ts';
import { reportedToolUses, type ToolUses, toolUnit } from '../metering/tool-uses.ts';
import { readCount } from '../metering/usage-facts.ts';

/** The uses of the provider's tools that a response of the responses protocol shows in its items and its counts. */

/** What a request says about the containers in which its tools run. */
export interface ContainerUse {
  /** The ids that the request names: these containers were made, and charged, before. */
  readonly named: readonly string[];
  /** The call continues state in which there may be others, which cannot be told from new ones. */
  readonly mayContinue: boolean;
}

export const NO_CONTAINERS: ContainerUse = { named: [], mayContinue: false };

/** Tool calls that the caller runs itself, with the result in its next request. */
const CLIENT_CALLS: readonly unknown[] = [
  'function_call',
  'custom_tool_call',
  'local_shell_call',
  'apply_patch_call',
  'computer_call',
];

const CALL = '_call';

type Item = Readonly<Record<string, unknown>>;

/** The items of calls of tools that the provider ran. */
export function serverToolCalls(output: unknown): readonly Item[] {
  if (!Array.isArray(output)) return [];
  return output.filter(
    (item: unknown): item is Item =>
      isRecord(item) && typeof item.type === 'string' && item.type.endsWith(CALL) && !CLIENT_CALLS.includes(item.type),
  );
}

/** Items that show no further run of the model: what it wrote, what the caller runs, lists and questions of MCP servers. */
const NO_ROUNDS: readonly unknown[] = [
  ...CLIENT_CALLS,
  ...['message', 'reasoning', 'compaction', 'item_reference', 'mcp_list_tools', 'mcp_approval_request'],
];

/** How often a provider ran a tool, by the items of a response: also by those that it shows as results, or names in its own way. */
export function roundsOf(output: unknown): number {
  if (!Array.isArray(output)) return 0;
  return output.filter(
    (item: unknown) =>
      isRecord(item) && typeof item.type === 'string' && !NO_ROUNDS.includes(item.type) && !item.type.endsWith(OUTPUT),
  ).length;
}

/** The output of a call, which is another item. */
const OUTPUT = '_output';

/** The uses that are billed. The provider's own counts go before those of items: some uses are free of charge. */
export function billedToolUses(response: Item, usage: Item, containerUse: ContainerUse): ToolUses {
  const reported = reportedToolUses(usage);
  if (reported?.areAll) return reported.uses;
  const uses = { webSearches: 0, webFetches: 0, fileSearches: 0, codeExecutions: 0, containers: 0, otherToolUses: 0 };
  const containers = new Set<string>();
  for (const item of serverToolCalls(response.output)) {
    if (item.status === 'failed') continue;
    const containerId = containerOf(item);
    if (containerId !== null) containers.add(containerId);
    switch (item.type) {
      case 'web_search_call':
        if (isSearch(item.action)) uses.webSearches++;
        break;
      case 'shell_call':
        // Without a container the caller runs it.
        if (containerId !== null) uses.codeExecutions++;
        break;
      case 'image_generation_call':
        // Billed by the tokens of its images.
        break;
      default:
        uses[toolUnit(String(item.type).slice(0, -CALL.length))]++;
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

/** Opening a page, and finding something in it, is not billed as a search. */
function isSearch(action: unknown): boolean {
  return !isRecord(action) || action.type === undefined || action.type === 'search';
}

function containerOf(item: Item): string | null {
  const place = isRecord(item.environment) ? item.environment : item;
  const id = place.container_id;
  return typeof id === 'string' && id !== '' ? id : null;
}
