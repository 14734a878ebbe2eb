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
}

const RESULT = '_tool_result';
/** Calls that the provider runs; one of the caller has a name of the provider's kind at Moonshot and MiniMax. */
const SERVER_CALL = 'server_tool_use';
const PROVIDER_NAME = /^(?:\$|plugin_web_search$)/;

export function shownTools(): ShownTools {
  const seen = new ShownUses();
  return {
    add(block) {
      if (!isRecord(block) || typeof block.type !== 'string') return;
      if (block.type.endsWith(RESULT)) {
        const unit = unitOf(block.type);
        // Nobody bills a search that failed.
        if (isError(block.content)) seen.forget(`${block.tool_use_id}`);
        else if (unit !== null) seen.note(`${block.tool_use_id}`, unit);
        return;
      }
      if (typeof block.name !== 'string') return;
      const isServerCall = block.type === SERVER_CALL || PROVIDER_NAME.test(block.name);
      const unit = isServerCall ? unitOf(block.name) : null;
      if (unit !== null) seen.note(`${block.id}`, unit);
    },
    uses: () => seen.counts(),
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

/** Adds what the blocks show to usage that counts fewer uses, unless its provider has counted them to the end. */
export function withShown(usage: Usage | null, isCounted: boolean, shown: ToolUses): Usage | null {
  const { webSearches = 0, webFetches = 0 } = shown;
  if (usage === null || isCounted || webSearches + webFetches === 0) return usage;
  return {
    ...usage,
    webSearches: Math.max(usage.webSearches, webSearches),
    webFetches: Math.max(usage.webFetches, webFetches),
    serverToolUses: Math.max(usage.serverToolUses, webSearches + webFetches),
  };
}
