import { isRecord } from '../../lib/json/json.ts';
import { ShownUses, type ToolUnit, type ToolUses } from '../metering/tool-uses.ts';
import type { Usage } from '../metering/usage-facts.ts';

/**
 * The searches and fetched pages that the blocks of a message show: the call, and its result. They count if the usage
 * does not count tools, because its vendor never does, or the stream was left before. Runs of code are billed otherwise.
 */
interface ShownTools {
  /** Takes a block in. */
  add(block: unknown): void;
  uses(): ToolUses;
  /** How often the provider ran a tool of any kind: also code, servers of MCP, and what failed. */
  rounds(): number;
}

const RESULT = '_tool_result';
/** Calls that the provider runs; one of the caller has a name of the provider's kind at Moonshot and MiniMax. */
const SERVER_CALL = 'server_tool_use';
/** `server_tool_use`, `mcp_tool_use`; not `tool_use` itself. */
const CALL_OF_PROVIDER = '_tool_use';
/** How the types of blocks end that only what a provider runs has. */
export const PROVIDER_BLOCKS = [CALL_OF_PROVIDER, RESULT] as const;

export function isOfProvider(block: unknown): boolean {
  const type = isRecord(block) ? block.type : null;
  return typeof type === 'string' && PROVIDER_BLOCKS.some((end) => type.endsWith(end));
}

const PROVIDER_NAME = /^(?:\$|plugin_web_search$)/;

export function shownTools(): ShownTools {
  const seen = new ShownUses();
  let calls = 0;
  let results = 0;
  return {
    add(block) {
      if (!isRecord(block) || typeof block.type !== 'string') return;
      if (block.type.endsWith(RESULT)) {
        results++;
        const unit = unitOf(block.type);
        // Nobody bills a search that failed.
        if (isError(block.content)) seen.forget(`${block.tool_use_id}`);
        else if (unit !== null) seen.note(`${block.tool_use_id}`, unit);
        return;
      }
      const hasProviderName = typeof block.name === 'string' && PROVIDER_NAME.test(block.name);
      if (block.type.endsWith(CALL_OF_PROVIDER) || hasProviderName) calls++;
      if (typeof block.name !== 'string') return;
      const isServerCall = block.type === SERVER_CALL || hasProviderName;
      const unit = isServerCall ? unitOf(block.name) : null;
      if (unit !== null) seen.note(`${block.id}`, unit);
    },
    uses: () => seen.counts(),
    rounds: () => Math.max(calls, results),
  };
}

/** By the name of a tool, or the type of its result. */
function unitOf(name: string): ToolUnit | null {
  if (name.includes('web_search')) return 'webSearches';
  return name.includes('web_fetch') ? 'webFetches' : null;
}

function isError(content: unknown): boolean {
  return isRecord(content) && typeof content.type === 'string' && content.type.endsWith('_error');
}

/** Adds what the blocks show: rounds, and uses unless the provider has counted them to the end. */
export function withShown(usage: Usage | null, isCounted: boolean, shown: ShownTools): Usage | null {
  const rounds = shown.rounds();
  if (usage === null || rounds === 0) return usage;
  const serverToolUses = Math.max(usage.serverToolUses, rounds);
  if (isCounted) return { ...usage, serverToolUses };
  const { webSearches = 0, webFetches = 0 } = shown.uses();
  return {
    ...usage,
    webSearches: Math.max(usage.webSearches, webSearches),
    webFetches: Math.max(usage.webFetches, webFetches),
    serverToolUses,
  };
}
