import { foldedName } from '../../lib/folded-name.ts';

/** Fields that affect the cost of some operation at some provider. At the top level, they must be spelled exactly and not be repeated. */
export const DECISIVE_FIELDS = [
  ...['model', 'fallbacks', 'stream', 'service_tier', 'speed', 'inference_geo', 'background'],
  ...['tools', 'tool_choice', 'functions'],
  ...['messages', 'system', 'input', 'instructions', 'prompt', 'query', 'documents'],
  ...['max_tokens', 'max_completion_tokens', 'max_output_tokens', 'max_new_tokens', 'max_tool_calls', 'n', 'best_of'],
  ...['thinking', 'thinking_budget', 'enable_thinking', 'reasoning', 'reasoning_effort', 'modalities', 'audio'],
  ...['web_search_options', 'mcp_servers', 'container', 'previous_response_id', 'conversation', 'store'],
  ...['size', 'quality', 'partial_images', 'dimensions', 'top_n'],
];

export const DECISIVE_BY_FOLDED: ReadonlyMap<string, string> = new Map(
  DECISIVE_FIELDS.map((key) => [foldedName(key), key]),
);
