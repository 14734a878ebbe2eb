import { type CacheSpelling, cacheSpellings } from '../src/protocols/metering/cache-counts.ts';
import type { TermName } from '../src/protocols/metering/service-terms.ts';
import type { UnitName } from '../src/protocols/metering/usage-units.ts';
import type { OperationName } from '../src/protocols/operations/all.ts';

/**
 * Everything in responses by which vendors bill, and what the gateway makes of it. `scripts/charges-doc.ts` makes the table of
 * `docs/charges.md` from it; `test/docs/charges.test.ts` reads every example and compares.
 */
export interface BilledFact {
  readonly operations: readonly OperationName[];
  /** What the vendor calls it. */
  readonly where: string;
  /** Vendors whose dialect it is; absent: the protocol itself. */
  readonly vendor?: string;
  /** The unit that counts it, or the term that it names; `images` and `calls` have prices of their own. */
  readonly counts: UnitName | TermName | 'images' | 'calls';
  /** A response that has it, in addition to the members that all responses of the operation have. */
  readonly example: Readonly<Record<string, unknown>>;
  /** Its count in the example, or the name of the term. */
  readonly amount: number | string;
  /** What a request has to ask for. */
  readonly request?: Readonly<Record<string, unknown>>;
  readonly note?: string;
}

const chatUsage = { prompt_tokens: 100, completion_tokens: 20, total_tokens: 120 };
const responsesUsage = { input_tokens: 100, output_tokens: 20, total_tokens: 120 };
const messagesUsage = { input_tokens: 100, output_tokens: 20 };
const imagesUsage = { input_tokens: 100, output_tokens: 20, total_tokens: 120 };

type Row = Omit<BilledFact, 'operations' | 'example'>;
const inUsage =
  (operations: readonly OperationName[], usage: object) =>
  (more: object, row: Row): BilledFact => ({ ...row, operations, example: { usage: { ...usage, ...more } } });

const ofChat = inUsage(['chat'], chatUsage);
const ofResponses = inUsage(['responses', 'compact'], responsesUsage);
const ofMessages = inUsage(['messages'], messagesUsage);
const ofImages = inUsage(['images.generate', 'images.edit'], imagesUsage);
const inPrompt = (details: object, row: Row) => ofChat({ prompt_tokens_details: details }, row);
const inCompletion = (details: object, row: Row) => ofChat({ completion_tokens_details: details }, row);
const inOutput = (item: object, row: Row): BilledFact => ({
  ...row,
  operations: ['responses'],
  example: { usage: responsesUsage, output: [item] },
});

/** In a choice of a response whose request offers a tool. */
const inChoice = (message: object, tool: object, row: Row): BilledFact => ({
  ...row,
  operations: ['chat'],
  request: { tools: [tool] },
  example: { usage: chatUsage, choices: [{ index: 0, message: { role: 'assistant', ...message } }] },
});

const code = { type: 'code_interpreter_call', container_id: 'cntr_1' };
const shell = { type: 'shell_call', environment: { type: 'container_reference', container_id: 'cntr_1' } };

const CACHE_UNITS = {
  read: 'cachedInputTokens',
  written: 'cacheWriteTokens',
  written5m: 'cacheWriteTokens',
  written1h: 'cacheWrite1hTokens',
} as const;

/** A spelling of the tokens of a cache. */
function ofCache(operations: readonly OperationName[], usage: object, spelling: CacheSpelling): readonly BilledFact[] {
  const { counts, path, vendor } = spelling;
  if (counts === 'nothing') return [];
  const more = path.reduceRight<unknown>((value, name) => ({ [name]: value }), 30) as object;
  const where = `\`usage.${path.join('.')}\``;
  const row = { where, counts: CACHE_UNITS[counts], amount: 30, ...(vendor !== undefined && { vendor }) };
  return [inUsage(operations, usage)(more, row)];
}

/** In the order of the table. */
export const billedFacts: readonly BilledFact[] = [
  ofChat({}, { where: '`usage.prompt_tokens`, less its details', counts: 'inputTokens', amount: 100 }),
  ...cacheSpellings.chat.flatMap((spelling) => ofCache(['chat'], chatUsage, spelling)),
  inPrompt(
    { audio_tokens: 10 },
    { where: '`usage.prompt_tokens_details.audio_tokens`', counts: 'audioInputTokens', amount: 10 },
  ),
  inPrompt(
    { image_tokens: 10 },
    { where: '`usage.prompt_tokens_details.image_tokens`', counts: 'imageInputTokens', amount: 10 },
  ),
  inPrompt(
    { video_tokens: 10 },
    {
      where: '`usage.prompt_tokens_details.video_tokens`',
      vendor: 'DashScope',
      counts: 'imageInputTokens',
      amount: 10,
    },
  ),
  ofChat({}, { where: '`usage.completion_tokens`, less audio and images', counts: 'outputTokens', amount: 20 }),
  ofChat(
    { total_tokens: 150 },
    {
      where: '`usage.total_tokens` - `prompt_tokens`, if that is more',
      vendor: 'xAI, Gemini',
      counts: 'outputTokens',
      amount: 50,
    },
  ),
  ofChat(
    { total_tokens: 150, cache_read_input_tokens: 30 },
    {
      where: '`usage.cache_read_input_tokens`, if `total_tokens` alone counts them',
      vendor: 'relays to Bedrock',
      counts: 'cachedInputTokens',
      amount: 30,
    },
  ),
  ofChat(
    { total_tokens: 150, cache_creation_input_tokens: 30 },
    {
      where: '`usage.cache_creation_input_tokens`, if `total_tokens` alone counts them',
      vendor: 'relays to Bedrock',
      counts: 'cacheWriteTokens',
      amount: 30,
    },
  ),
  inCompletion(
    { reasoning_tokens: 5 },
    { where: '`usage.completion_tokens_details.reasoning_tokens`', counts: 'reasoningTokens', amount: 5 },
  ),
  inCompletion(
    { accepted_prediction_tokens: 5, rejected_prediction_tokens: 5 },
    {
      where: '`...accepted_prediction_tokens`, `...rejected_prediction_tokens`',
      counts: 'outputTokens',
      amount: 20,
      note: 'inside the output',
    },
  ),
  inCompletion(
    { audio_tokens: 5 },
    { where: '`usage.completion_tokens_details.audio_tokens`', counts: 'audioOutputTokens', amount: 5 },
  ),
  inCompletion(
    { image_tokens: 5 },
    { where: '`usage.completion_tokens_details.image_tokens`', counts: 'imageOutputTokens', amount: 5 },
  ),
  {
    operations: ['chat'],
    where: '`service_tier`',
    counts: 'serviceTier',
    example: { usage: chatUsage, service_tier: 'flex' },
    amount: 'flex',
  },
  ofChat(
    { service_tier: 'flex' },
    { where: 'else `usage.service_tier`', vendor: 'Mistral', counts: 'serviceTier', amount: 'flex' },
  ),
  ofChat(
    { server_tool_use: { web_search_requests: 2 } },
    { where: '`usage.server_tool_use.web_search_requests`', vendor: 'OpenRouter', counts: 'webSearches', amount: 2 },
  ),
  ofChat(
    { server_tool_use: { tool_calls_executed: 2 } },
    {
      where: '`usage.server_tool_use.tool_calls_executed`, less those with a count of their own',
      vendor: 'OpenRouter',
      counts: 'otherToolUses',
      amount: 2,
    },
  ),
  ofChat(
    { num_search_queries: 2 },
    { where: '`usage.num_search_queries`', vendor: 'Perplexity', counts: 'webSearches', amount: 2 },
  ),
  ofChat(
    { plugins: { search: { count: 2 } } },
    { where: '`usage.plugins.search.count`', vendor: 'DashScope', counts: 'webSearches', amount: 2 },
  ),
  inChoice(
    { tool_calls: [{ index: 0, type: 'builtin_function', function: { name: '$web_search', arguments: '{}' } }] },
    { type: 'builtin_function', function: { name: '$web_search' } },
    {
      where: '`tool_calls[]` named `$web_search`, `plugin_web_search`',
      vendor: 'Moonshot, MiniMax',
      counts: 'webSearches',
      amount: 1,
      note: 'if nothing above counts it',
    },
  ),
  inChoice(
    { tool_calls: [{ index: 0, id: 'call_1', type: 'web_search', function: { name: 'web_search' } }] },
    { type: 'web_search', function: { description: 'x' } },
    {
      where: '`tool_calls[]` of a `type` that callers do not run, such as `web_search`',
      vendor: 'StepFun',
      counts: 'webSearches',
      amount: 1,
      note: 'other types by their names; if nothing above counts it',
    },
  ),
  ...(
    [
      ['`web_search[]`', 'Zhipu', { web_search: [{ title: 'x', link: 'https://x.example/', refer: 'ref_1' }] }],
      ['`search_info`', 'DashScope, Hunyuan', { search_info: { search_results: [{ index: 1, title: 'x' }] } }],
      ['`search_results[]`', 'Baidu Qianfan, Perplexity', { search_results: [{ title: 'x' }] }],
      ['`citations[]`', 'Perplexity', { citations: ['https://x.example/'] }],
      ['`references[]`', 'Volcengine Ark', { references: [{ url: 'https://x.example/' }] }],
    ] as const
  ).map(
    ([where, vendor, more]): BilledFact => ({
      operations: ['chat'],
      where,
      vendor,
      counts: 'webSearches',
      example: { usage: chatUsage, ...more },
      amount: 1,
      note: 'a search for all of them, if nothing above counts it',
    }),
  ),
  inChoice(
    { annotations: [{ type: 'url_citation', url_citation: { url: 'https://x.example/' } }] },
    { type: 'openrouter:web_search' },
    {
      where: '`annotations[]`: `url_citation`',
      vendor: 'OpenAI, OpenRouter',
      counts: 'webSearches',
      amount: 1,
      note: 'a search for all of them, if nothing above counts it',
    },
  ),
  {
    operations: ['chat'],
    where: 'nothing, if the request has `web_search_options`',
    vendor: 'OpenAI',
    counts: 'webSearches',
    request: { web_search_options: {} },
    example: { usage: chatUsage },
    amount: 1,
    note: 'these models search once a call',
  },

  ofResponses({}, { where: '`usage.input_tokens`, less its details', counts: 'inputTokens', amount: 100 }),
  ...cacheSpellings.responses.flatMap((spelling) => ofCache(['responses', 'compact'], responsesUsage, spelling)),
  ofResponses({}, { where: '`usage.output_tokens`', counts: 'outputTokens', amount: 20 }),
  ofResponses(
    { total_tokens: 150 },
    { where: '`usage.total_tokens` - `input_tokens`, if that is more', counts: 'outputTokens', amount: 50 },
  ),
  ofResponses(
    { output_tokens_details: { reasoning_tokens: 5 } },
    { where: '`usage.output_tokens_details.reasoning_tokens`', counts: 'reasoningTokens', amount: 5 },
  ),
  {
    operations: ['responses', 'compact'],
    where: '`service_tier`',
    counts: 'serviceTier',
    example: { usage: responsesUsage, service_tier: 'flex' },
    amount: 'flex',
  },
  inUsage(['responses'], responsesUsage)(
    { x_tools: { web_extractor: { count: 2 } } },
    {
      where: '`usage.x_tools`, by tool: `count`',
      vendor: 'DashScope',
      counts: 'webFetches',
      amount: 2,
      note: '`web_extractor`; other tools by their names',
    },
  ),
  {
    operations: ['responses'],
    where: '`tool_usage.web_search.num_requests`',
    counts: 'webSearches',
    example: { usage: responsesUsage, tool_usage: { web_search: { num_requests: 2 } } },
    amount: 2,
  },
  inUsage(['responses'], responsesUsage)(
    { tool_usage: { web_search: 2 } },
    { where: 'else `usage.tool_usage.web_search`', vendor: 'Volcengine Ark', counts: 'webSearches', amount: 2 },
  ),
  inUsage(['responses'], responsesUsage)(
    { tool_usage: { mcp: 1, knowledge_search: 1 } },
    {
      where: '`usage.tool_usage`: other tools, if these are more than their calls in `output[]`',
      vendor: 'Volcengine Ark',
      counts: 'otherToolUses',
      amount: 2,
    },
  ),
  inOutput(
    { type: 'web_search_call', action: { type: 'search' } },
    { where: 'else `output[]`: `web_search_call` with the action `search`', counts: 'webSearches', amount: 1 },
  ),
  inOutput(
    { type: 'file_search_call' },
    { where: '`output[]`: `file_search_call`', counts: 'fileSearches', amount: 1 },
  ),
  inOutput(code, { where: '`output[]`: `code_interpreter_call`', counts: 'codeExecutions', amount: 1 }),
  inOutput(shell, { where: '`output[]`: `shell_call` in a container', counts: 'codeExecutions', amount: 1 }),
  inOutput(code, {
    where: '`output[].container_id`, each once, not those that the request names',
    counts: 'containers',
    amount: 1,
    note: 'none if the call continues an earlier response, whose container it may be',
  }),
  inOutput(
    { type: 'mcp_call' },
    { where: '`output[]`: other calls of tools that the provider runs', counts: 'otherToolUses', amount: 1 },
  ),
  {
    operations: ['responses'],
    where: '`tool_usage.image_gen`',
    counts: 'imageOutputTokens',
    example: { usage: responsesUsage, tool_usage: { image_gen: { ...imagesUsage } } },
    amount: 20,
    note: 'as the tokens of an image response, at the prices of the model that `tools[].model` names, else of the call',
  },
  inUsage(['responses'], responsesUsage)(
    { server_side_tool_usage_details: { x_search_calls: 2 } },
    {
      where: '`usage.server_side_tool_usage_details`, by tool; also in chat',
      vendor: 'xAI',
      counts: 'otherToolUses',
      amount: 2,
    },
  ),

  ofMessages({}, { where: '`usage.input_tokens`', counts: 'inputTokens', amount: 100 }),
  ofMessages(
    { cache_read_input_tokens: 30 },
    { where: '`usage.cache_read_input_tokens`', counts: 'cachedInputTokens', amount: 30 },
  ),
  ofMessages(
    { cache_creation_input_tokens: 30 },
    { where: '`usage.cache_creation_input_tokens`, less those of an hour', counts: 'cacheWriteTokens', amount: 30 },
  ),
  ofMessages(
    { cache_creation: { ephemeral_1h_input_tokens: 30 } },
    { where: '`usage.cache_creation.ephemeral_1h_input_tokens`', counts: 'cacheWrite1hTokens', amount: 30 },
  ),
  ofMessages({}, { where: '`usage.output_tokens`', counts: 'outputTokens', amount: 20 }),
  ofMessages(
    { output_tokens_details: { thinking_tokens: 5 } },
    { where: '`usage.output_tokens_details.thinking_tokens`', counts: 'reasoningTokens', amount: 5 },
  ),
  ofMessages(
    { iterations: [{ type: 'compaction', input_tokens: 7, output_tokens: 3 }] },
    {
      where: '`usage.iterations[]`: `compaction`',
      counts: 'outputTokens',
      amount: 23,
      note: 'beside the totals, and a run of its own; runs of other models at their own prices',
    },
  ),
  ofMessages(
    { service_tier: 'priority' },
    { where: '`usage.service_tier`', counts: 'serviceTier', amount: 'priority' },
  ),
  ofMessages({ speed: 'fast' }, { where: '`usage.speed`', counts: 'speed', amount: 'fast' }),
  ofMessages({ inference_geo: 'us' }, { where: '`usage.inference_geo`', counts: 'inferenceGeo', amount: 'us' }),
  ofMessages(
    { server_tool_use: { web_search_requests: 2 } },
    { where: '`usage.server_tool_use.web_search_requests`', counts: 'webSearches', amount: 2 },
  ),
  ofMessages(
    { server_tool_use: { web_fetch_requests: 2 } },
    { where: '`usage.server_tool_use.web_fetch_requests`', counts: 'webFetches', amount: 2 },
  ),
  ofMessages(
    { server_tool_use: { code_execution_requests: 2 } },
    { where: '`usage.server_tool_use.code_execution_requests`', counts: 'codeExecutions', amount: 2 },
  ),
  {
    operations: ['messages'],
    where: '`content[]`: `web_search_tool_result` without an error, or its call, if the usage has no `server_tool_use`',
    counts: 'webSearches',
    request: { tools: [{ type: 'web_search_20250305', name: 'web_search' }] },
    example: {
      usage: messagesUsage,
      content: [
        { type: 'web_search_tool_result', tool_use_id: 'srvtoolu_1', content: [{ type: 'web_search_result' }] },
      ],
    },
    amount: 1,
    note: 'as do `web_fetch_tool_result`, and `tool_use` named `$web_search` or `plugin_web_search`',
  },
  {
    operations: ['messages'],
    where: '`container.id`, if the request names none',
    counts: 'containers',
    example: { usage: messagesUsage, container: { id: 'container_1' } },
    amount: 1,
    note: 'none beside web searches and fetches, for which code is free',
  },

  inUsage(['embeddings'], { prompt_tokens: 100 })(
    {},
    { where: '`usage.prompt_tokens`, else `usage.total_tokens`', counts: 'inputTokens', amount: 100 },
  ),
  {
    operations: ['embeddings'],
    where: '`meta.billed_units.input_tokens`, `meta.tokens.input_tokens`, `tokens.input_tokens`',
    vendor: 'Cohere, SiliconFlow',
    counts: 'inputTokens',
    example: { meta: { billed_units: { input_tokens: 100 } } },
    amount: 100,
  },
  {
    operations: ['rerank'],
    where: '`usage.total_tokens`, `usage.prompt_tokens`, `meta.billed_units.total_tokens`',
    counts: 'inputTokens',
    example: { usage: { total_tokens: 100 } },
    amount: 100,
  },
  {
    operations: ['rerank'],
    where: '`meta.tokens` or `tokens`: `input_tokens` + `output_tokens`',
    vendor: 'SiliconFlow',
    counts: 'inputTokens',
    example: { meta: { tokens: { input_tokens: 90, output_tokens: 10 } } },
    amount: 100,
  },
  {
    operations: ['rerank'],
    where: '`meta.billed_units.search_units`',
    vendor: 'Cohere',
    counts: 'searchUnits',
    example: { meta: { billed_units: { search_units: 2 } } },
    amount: 2,
  },
  { operations: ['rerank'], where: 'the response itself', counts: 'calls', example: {}, amount: 1 },

  ofImages({}, { where: '`usage.input_tokens`, less images', counts: 'inputTokens', amount: 100 }),
  ofImages(
    { input_tokens_details: { image_tokens: 30 } },
    { where: '`usage.input_tokens_details.image_tokens`', counts: 'imageInputTokens', amount: 30 },
  ),
  ofImages({}, { where: '`usage.output_tokens`, less text', counts: 'imageOutputTokens', amount: 20 }),
  ofImages(
    { output_tokens_details: { text_tokens: 5 } },
    { where: '`usage.output_tokens_details.text_tokens`', counts: 'outputTokens', amount: 5 },
  ),
  {
    operations: ['images.generate', 'images.edit'],
    where: '`svg_usage.output_tokens`, and its `input_tokens` as input',
    counts: 'outputTokens',
    example: { usage: imagesUsage, svg_usage: { input_tokens: 10, output_tokens: 5 } },
    amount: 5,
  },
  {
    operations: ['images.generate', 'images.edit'],
    where: '`data[]` with `url` or `b64_json`, by `quality` and `size`',
    counts: 'images',
    example: { usage: imagesUsage },
    amount: 2,
  },
];

/** Facts that are not read, and why; for the page alone. */
export const unreadFacts: readonly (readonly [operation: OperationName, where: string, why: string])[] = [
  [
    'chat',
    '`usage.cost`, `usage.cost_in_usd_ticks`, `usage.cost_details`',
    'the vendor’s own sum, in its currency; prices are yours',
  ],
  [
    'chat',
    '`usage.prompt_tokens_details.cache_type` (DashScope)',
    'reads of an explicit and of an implicit cache have prices of their own, and `cachedInput` is one: set it to the one that you use',
  ],
  [
    'chat',
    'a search that `enable_search` left to the model, if the response shows nothing of it (DashScope)',
    'it cannot be told from none: the usage of models that bill it has `plugins`',
  ],
  ['chat', '`bot_usage` (Volcengine Ark)', 'what bots use by themselves; their `references` count a search'],
  [
    'chat',
    '`usage.search_context_size`, `usage.citation_tokens` (Perplexity)',
    'a fee by depth of a search has no price key: set `perWebSearch` to the depth that you allow',
  ],
  [
    'chat',
    '`usage.num_sources_used` (xAI)',
    'the sources of its live search, which it billed one by one, have no price key; the tools that took its place are counted',
  ],
  [
    'messages',
    'hours of containers',
    'not in any response; `perContainer` can stand for the hours that the vendor bills at least',
  ],
  [
    'messages',
    '`usage.fallback_credit`',
    'the vendor’s credit has no amount in the response; the call is charged without it',
  ],
  ['responses', 'storage of files, vector stores and logs', 'not part of a call'],
];
