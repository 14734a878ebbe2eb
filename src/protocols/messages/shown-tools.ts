import { isRecord } from '../../lib/json/json.ts';
import { ShownUses, type ToolUnit, type ToolUses } from '../metering/tool-uses.ts';
import type { Usage } from '../metering/usage-facts.ts';

/** Searches and fetched pages that the blocks of a message show. They are counted only if its usage has no tool counts. */
interface ShownTools {
  add(block: unknown): void;
  uses(): ToolUses;
  /** Number of tool runs at the provider, including code, MCP servers and failed runs. */
  rounds(): number;
}

const RESULT = '_tool_result';
/** Type of tool calls that the provider runs. At Moonshot and MiniMax, they have the type of client calls, with a reserved name. */
const SERVER_CALL = 'server_tool_use';
/** Ending of `server_tool_use` and `mcp_tool_use`, but not of `tool_use`. */
const CALL_OF_PROVIDER = '_tool_use';
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
        // A failed search is not billed.
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

function unitOf(name: string): ToolUnit | null {
  if (name.includes('web_search')) return 'webSearches';
  return name.includes('web_fetch') ? 'webFetches' : null;
}

function isError(content: unknown): boolean {
  return isRecord(content) && typeof content.type === 'string' && content.type.endsWith('_error');
}

/** Adds the rounds, and the tool uses unless the usage counts them (`isCounted`). */
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
