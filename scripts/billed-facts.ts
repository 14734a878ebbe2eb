import { type CacheSpelling, cacheSpellings } from '../src/protocols/metering/cache-counts.ts';
import type { TermName } from '../src/protocols/metering/service-terms.ts';
import type { UnitName } from '../src/protocols/metering/usage-units.ts';
import type { OperationName } from '../src/protocols/operations/all.ts';

/**
 * A billable fact in responses, and how the gateway charges it. `scripts/charges-doc.ts` generates the table of `docs/charges.md` from these;
 * `test/docs/charges.test.ts` checks every example.
 */
export interface BilledFact {
  readonly operations: readonly OperationName[];
  /** The name of the field. */
  readonly where: string;
  /** Vendors with this dialect; absent: the protocol itself. */
  readonly vendor?: string;
  /** The usage unit or the term; `images` and `calls` have their own prices. */
  readonly counts: UnitName | TermName | 'images' | 'calls';
  /** Members of an example response, in addition to those of every response of the operation. */
  readonly example: Readonly<Record<string, unknown>>;
  /** Its count in the example, or the name of the term. */
  readonly amount: number | string;
  /** Members that the request must have. */
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
const ofResponsesAlone = inUsage(['responses'], responsesUsage);
const ofMessages = inUsage(['messages'], messagesUsage);
const ofImages = inUsage(['images.generate', 'images.edit'], imagesUsage);

/** An object with a value at a path. */
const withMember = (path: string, value: unknown): object =>
  path.split('.').reduceRight<unknown>((inner, name) => ({ [name]: inner }), value) as object;

/** A member of the usage by its path. Its value is the amount. Set `where` if the path is not enough. */
const member =
  (of: typeof ofChat) =>
  (path: string, counts: Row['counts'], amount: Row['amount'], more: Partial<Row> = {}): BilledFact =>
    of(withMember(path, amount), { where: `\`usage.${path}\``, counts, amount, ...more });
const chat = member(ofChat);
const responses = member(ofResponses);
const responsesAlone = member(ofResponsesAlone);
const messages = member(ofMessages);
const images = member(ofImages);

/** A member outside the usage. */
const beside = (
  operations: readonly OperationName[],
  usage: object,
  path: string,
  counts: Row['counts'],
  amount: Row['amount'],
): BilledFact => ({
  operations,
  where: `\`${path}\``,
  counts,
  example: { usage, ...withMember(path, amount) },
  amount,
});

/** An output item. */
const inOutput = (item: object, counts: UnitName, where: string, note?: string): BilledFact => ({
  operations: ['responses'],
  where,
  counts,
  example: { usage: responsesUsage, output: [item] },
  amount: 1,
  ...(note !== undefined && { note }),
});

/** A search that a choice contains. The request may offer a tool. */
const inChoice = (
  message: object,
  tool: object | undefined,
  row: Pick<Row, 'where' | 'vendor' | 'note'>,
): BilledFact => ({
  ...row,
  operations: ['chat'],
  counts: 'webSearches',
  ...(tool && { request: { tools: [tool] } }),
  example: { usage: chatUsage, choices: [{ index: 0, message: { role: 'assistant', ...message } }] },
  amount: 1,
});

const code = { type: 'code_interpreter_call', container_id: 'cntr_1' };
const shell = { type: 'shell_call', environment: { type: 'container_reference', container_id: 'cntr_1' } };

const CACHE_UNITS = {
  read: 'cachedInputTokens',
  written: 'cacheWriteTokens',
  written5m: 'cacheWriteTokens',
  written1h: 'cacheWrite1hTokens',
} as const;

/** A spelling of cached tokens. */
function ofCache(of: typeof chat, { counts, path, vendor }: CacheSpelling): readonly BilledFact[] {
  if (counts === 'nothing') return [];
  return [of(path.join('.'), CACHE_UNITS[counts], 30, vendor === undefined ? {} : { vendor })];
}

export const billedFacts: readonly BilledFact[] = [
  ofChat({}, { where: '`usage.prompt_tokens`, less its details', counts: 'inputTokens', amount: 100 }),
  ...cacheSpellings.chat.flatMap((spelling) => ofCache(chat, spelling)),
  chat('prompt_tokens_details.audio_tokens', 'audioInputTokens', 10),
  chat('prompt_tokens_details.image_tokens', 'imageInputTokens', 10),
  chat('prompt_tokens_details.video_tokens', 'imageInputTokens', 10, { vendor: 'DashScope' }),
  {
    operations: ['chat'],
    where: '`usage.input_tokens` and `usage.output_tokens` in place of these, with their details',
    vendor: 'mlx-vlm',
    counts: 'inputTokens',
    example: { usage: responsesUsage },
    amount: 100,
  },
  ofChat({}, { where: '`usage.completion_tokens`, less audio and images', counts: 'outputTokens', amount: 20 }),
  ofChat(
    { total_tokens: 150 },
    {
      where: '`usage.total_tokens` - `prompt_tokens`, if that is more',
      vendor: 'xAI, Gemini',
      counts: 'outputTokens',
      amount: 50,
      note: 'the stated reasoning, otherwise at most what the request allows; beyond that the total is doubted and marked',
    },
  ),
  ofChat(
    { total_tokens: 150, cache_read_input_tokens: 30 },
    {
      where: 'cache reads in any of these spellings, if only `total_tokens` includes them',
      vendor: 'relays to Bedrock',
      counts: 'cachedInputTokens',
      amount: 30,
    },
  ),
  ofChat(
    { total_tokens: 150, prompt_tokens_details: { cache_write_tokens: 30 } },
    {
      where: 'cache writes, in the same way',
      vendor: 'relays to Bedrock',
      counts: 'cacheWriteTokens',
      amount: 30,
    },
  ),
  ofChat(
    { prompt_tokens_details: { cached_tokens: 130 } },
    {
      where: 'both, if they exceed `prompt_tokens`',
      vendor: 'relays to Anthropic',
      counts: 'cachedInputTokens',
      amount: 130,
      note: 'in addition to the whole prompt',
    },
  ),
  chat('completion_tokens_details.reasoning_tokens', 'reasoningTokens', 5),
  ofChat(
    { completion_tokens_details: { accepted_prediction_tokens: 5, rejected_prediction_tokens: 5 } },
    {
      where: '`...accepted_prediction_tokens`, `...rejected_prediction_tokens`',
      counts: 'outputTokens',
      amount: 20,
      note: 'inside the output',
    },
  ),
  chat('completion_tokens_details.audio_tokens', 'audioOutputTokens', 5),
  chat('completion_tokens_details.image_tokens', 'imageOutputTokens', 5),
  chat('citation_tokens', 'citationTokens', 30, { vendor: 'Perplexity', note: 'outside the totals' }),
  ofChat(
    { citation_tokens: 30, reasoning_tokens: 300 },
    {
      where: '`usage.reasoning_tokens`, with `usage.citation_tokens` or above the completion',
      vendor: 'Perplexity',
      counts: 'separateReasoningTokens',
      amount: 300,
      note: 'outside the totals',
    },
  ),
  beside(['chat'], chatUsage, 'service_tier', 'serviceTier', 'flex'),
  chat('service_tier', 'serviceTier', 'flex', { where: 'otherwise `usage.service_tier`', vendor: 'Mistral' }),
  chat('server_tool_use.web_search_requests', 'webSearches', 2, { vendor: 'OpenRouter' }),
  chat('server_tool_use.tool_calls_executed', 'otherToolUses', 2, {
    where: '`usage.server_tool_use.tool_calls_executed`, except those with their own count',
    vendor: 'OpenRouter',
  }),
  chat('server_tool_use_details.web_search_requests', 'webSearches', 2, {
    where: '`usage.server_tool_use_details`, in the same way',
    vendor: 'OpenRouter',
  }),
  chat('prompt_tokens_details.web_search_requests', 'webSearches', 2, { vendor: 'LiteLLM' }),
  chat('num_search_queries', 'webSearches', 2, { vendor: 'Perplexity' }),
  ofChat(
    { search_context_size: 'low' },
    {
      where: '`usage.search_context_size`',
      vendor: 'Perplexity',
      counts: 'webSearches',
      amount: 1,
      note: 'the fee per request, regardless of the size; set `perWebSearch` to the price of the size that you allow',
    },
  ),
  chat('plugins.search.count', 'webSearches', 2, { vendor: 'DashScope' }),
  inChoice(
    { tool_calls: [{ index: 0, type: 'builtin_function', function: { name: '$web_search', arguments: '{}' } }] },
    { type: 'builtin_function', function: { name: '$web_search' } },
    {
      where: '`tool_calls[]` named `$web_search`, `plugin_web_search`',
      vendor: 'Moonshot, MiniMax',
      note: 'if no field above counts it',
    },
  ),
  inChoice(
    { tool_calls: [{ index: 0, id: 'call_1', type: 'web_search', function: { name: 'web_search' } }] },
    { type: 'web_search', function: { description: 'x' } },
    {
      where: '`tool_calls[]` of a `type` that callers do not run, such as `web_search`',
      vendor: 'StepFun',
      note: 'other types by name; if no field above counts it',
    },
  ),
  ...(
    [
      ['search', 'webSearches', '`executed_tools[]` of the message: `search`, `browser_search`'],
      ['visit', 'webFetches', '`executed_tools[]`: `visit`'],
      ['python', 'codeExecutions', '`executed_tools[]`: `python`'],
    ] as const
  ).map(
    ([type, counts, where]): BilledFact => ({
      operations: ['chat'],
      where,
      vendor: 'Groq',
      counts,
      example: {
        usage: chatUsage,
        choices: [{ index: 0, message: { role: 'assistant', executed_tools: [{ index: 0, type, arguments: '{}' }] } }],
      },
      amount: 1,
      ...(type === 'python' && { note: 'other types `perToolUse`' }),
    }),
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
      note: 'one search for all of them, if no field above counts it',
    }),
  ),
  inChoice({ annotations: [{ type: 'url_citation', url_citation: { url: 'https://x.example/' } }] }, undefined, {
    where: '`annotations[]`: `url_citation`, also without a tool in the request',
    vendor: 'OpenAI, OpenRouter',
    note: 'one search for all of them, if no field above counts it',
  }),
  {
    operations: ['chat'],
    where: 'nothing, if the request has `web_search_options`',
    vendor: 'OpenAI',
    counts: 'webSearches',
    request: { web_search_options: {} },
    example: { usage: chatUsage },
    amount: 1,
    note: 'these models search once per call',
  },

  ofResponses({}, { where: '`usage.input_tokens`, less its details', counts: 'inputTokens', amount: 100 }),
  ...cacheSpellings.responses.flatMap((spelling) => ofCache(responses, spelling)),
  ofResponses({}, { where: '`usage.output_tokens`', counts: 'outputTokens', amount: 20 }),
  ofResponses(
    { total_tokens: 150 },
    {
      where: '`usage.total_tokens` - `input_tokens`, if that is more',
      counts: 'outputTokens',
      amount: 50,
      note: 'as in chat; also for cached tokens that the input excludes',
    },
  ),
  responses('output_tokens_details.reasoning_tokens', 'reasoningTokens', 5),
  beside(['responses', 'compact'], responsesUsage, 'service_tier', 'serviceTier', 'flex'),
  responsesAlone('x_tools.web_extractor.count', 'webFetches', 2, {
    where: '`usage.x_tools`, by tool: `count`',
    vendor: 'DashScope',
    note: '`web_extractor`; other tools by name',
  }),
  ofResponsesAlone(
    { tool_calls_details: { search_web: { invocation: 2 } } },
    {
      where: '`usage.tool_calls_details`, by tool: `invocation`',
      vendor: 'Perplexity',
      counts: 'webSearches',
      amount: 2,
      note: '`search_web`; `fetch_url` `perWebFetch`, other tools `perToolUse`',
    },
  ),
  beside(['responses'], responsesUsage, 'tool_usage.web_search.num_requests', 'webSearches', 2),
  responsesAlone('tool_usage.web_search', 'webSearches', 2, {
    where: 'otherwise `usage.tool_usage.web_search`',
    vendor: 'Volcengine Ark',
  }),
  ofResponsesAlone(
    { tool_usage: { mcp: 1, knowledge_search: 1 } },
    {
      where: '`usage.tool_usage`: other tools, if there are more than calls in `output[]`',
      vendor: 'Volcengine Ark',
      counts: 'otherToolUses',
      amount: 2,
    },
  ),
  inOutput(
    { type: 'web_search_call', action: { type: 'search' } },
    'webSearches',
    'else `output[]`: `web_search_call` with the action `search`',
  ),
  inOutput({ type: 'file_search_call' }, 'fileSearches', '`output[]`: `file_search_call`'),
  inOutput(code, 'codeExecutions', '`output[]`: `code_interpreter_call`'),
  inOutput(shell, 'codeExecutions', '`output[]`: `shell_call` in a container'),
  inOutput(
    code,
    'containers',
    '`output[].container_id`, each once, not those that the request names',
    'none if the call continues an earlier response, whose container it may be',
  ),
  inOutput(
    { type: 'search_results', results: [{ url: 'https://x.example/' }] },
    'webSearches',
    '`output[]`: `search_results`, `openrouter:web_search` (Perplexity, OpenRouter)',
    'if nothing above counts it',
  ),
  inOutput(
    { type: 'fetch_url_results', contents: [] },
    'webFetches',
    '`output[]`: `fetch_url_results` (Perplexity)',
    'if nothing above counts it',
  ),
  inOutput(
    { type: 'custom_tool_call', name: 'x_keyword_search' },
    'otherToolUses',
    '`output[]`: `custom_tool_call` of a search of X (xAI)',
    'if nothing above counts it',
  ),
  inOutput(
    { type: 'mcp_call' },
    'otherToolUses',
    '`output[]`: other calls of tools that the provider runs',
    'none with `execution: client`, which the caller runs',
  ),
  {
    operations: ['responses'],
    where: '`tool_usage.image_gen`',
    counts: 'imageOutputTokens',
    example: { usage: responsesUsage, tool_usage: { image_gen: { ...imagesUsage } } },
    amount: 20,
    note: 'as tokens of an image response, at the prices of the model in `tools[].model`, otherwise of the call',
  },
  {
    operations: ['responses'],
    where: '`server_side_tool_usage` outside the usage, by tool',
    vendor: 'xAI',
    counts: 'webSearches',
    example: { usage: responsesUsage, server_side_tool_usage: { SERVER_SIDE_TOOL_WEB_SEARCH: 2 } },
    amount: 2,
    note: '`SERVER_SIDE_TOOL_WEB_SEARCH`; other tools by name',
  },
  ofResponsesAlone(
    { server_side_tool_usage_details: { x_search_calls: 2 } },
    {
      where: '`usage.server_side_tool_usage_details`, by tool; also in chat',
      vendor: 'xAI',
      counts: 'otherToolUses',
      amount: 2,
    },
  ),

  ofMessages({}, { where: '`usage.input_tokens`', counts: 'inputTokens', amount: 100 }),
  messages('cache_read_input_tokens', 'cachedInputTokens', 30),
  messages('cache_creation_input_tokens', 'cacheWriteTokens', 30, {
    where: '`usage.cache_creation_input_tokens`, less the one-hour writes',
  }),
  messages('cache_creation.ephemeral_1h_input_tokens', 'cacheWrite1hTokens', 30),
  ofMessages({}, { where: '`usage.output_tokens`', counts: 'outputTokens', amount: 20 }),
  messages('output_tokens_details.thinking_tokens', 'reasoningTokens', 5),
  ofMessages(
    { iterations: [{ type: 'compaction', input_tokens: 7, output_tokens: 3 }] },
    {
      where: '`usage.iterations[]`: `compaction`',
      counts: 'outputTokens',
      amount: 23,
      note: 'in addition to the totals, as a separate run; runs of other models at their own prices',
    },
  ),
  messages('service_tier', 'serviceTier', 'priority'),
  messages('speed', 'speed', 'fast'),
  messages('inference_geo', 'inferenceGeo', 'us'),
  messages('server_tool_use.web_search_requests', 'webSearches', 2),
  messages('server_tool_use.web_fetch_requests', 'webFetches', 2),
  messages('server_tool_use.code_execution_requests', 'codeExecutions', 2),
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
    note: 'also `web_fetch_tool_result`, and `tool_use` with the name `$web_search` or `plugin_web_search`',
  },
  {
    operations: ['messages'],
    where: '`container.id`, if the request has none',
    counts: 'containers',
    example: { usage: messagesUsage, container: { id: 'container_1' } },
    amount: 1,
    note: 'none with web searches and fetches, which include code',
  },

  inUsage(['completions'], chatUsage)(
    {},
    { where: '`usage.prompt_tokens`', counts: 'inputTokens', amount: 100, note: 'other fields as in chat' },
  ),
  inUsage(['completions'], chatUsage)({}, { where: '`usage.completion_tokens`', counts: 'outputTokens', amount: 20 }),

  inUsage(['embeddings'], { prompt_tokens: 100 })(
    {},
    {
      where: '`usage.prompt_tokens`, otherwise `usage.total_tokens`, `usage.input_tokens`',
      counts: 'inputTokens',
      amount: 100,
    },
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
    where: '`usage.total_tokens`, `usage.prompt_tokens`, `usage.input_tokens`, `meta.billed_units.total_tokens`',
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
  {
    operations: ['rerank'],
    where: 'otherwise `usage.search_units`',
    vendor: 'OpenRouter',
    counts: 'searchUnits',
    example: { usage: { search_units: 2, total_tokens: 150 } },
    amount: 2,
  },
  { operations: ['rerank'], where: 'the response itself', counts: 'calls', example: {}, amount: 1 },

  ofImages({}, { where: '`usage.input_tokens`, less images', counts: 'inputTokens', amount: 100 }),
  images('input_tokens_details.image_tokens', 'imageInputTokens', 30),
  ofImages({}, { where: '`usage.output_tokens`, less text', counts: 'imageOutputTokens', amount: 20 }),
  images('output_tokens_details.text_tokens', 'outputTokens', 5),
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

/** Facts that the gateway ignores, and why. For the page only. */
export const unreadFacts: readonly (readonly [operation: OperationName, where: string, why: string])[] = [
  [
    'chat',
    '`usage.cost`, `usage.cost_in_usd_ticks`, `usage.cost_details`',
    'the vendor’s own sum, in its currency; prices are yours',
  ],
  [
    'chat',
    '`usage.prompt_tokens_details.cache_type` (DashScope)',
    'reads of explicit and implicit caches have different prices, but `cachedInput` is a single price: set it for the cache that you use',
  ],
  [
    'chat',
    'a search that the model chose by `enable_search`, if the response does not show it (DashScope)',
    'it cannot be recognized; the usage of models that bill it has `plugins`',
  ],
  ['chat', '`bot_usage` (Volcengine Ark)', 'usage of bots themselves; their `references` count as a search'],
  [
    'chat',
    '`usage.num_sources_used` (xAI)',
    'the sources of its former live search, billed one by one, have no price key and are marked; the tools that replaced it are counted',
  ],
  [
    'chat',
    '`usage_breakdown` (Groq)',
    'tokens of each model in a system, which have their own prices; the tokens in `usage` are charged at the prices of the call',
  ],
  [
    'messages',
    'hours of containers',
    'not in any response; `perContainer` can include the minimum hours that the vendor bills',
  ],
  [
    'messages',
    '`usage.fallback_credit`',
    'the vendor’s credit has no amount in the response; the call is charged without it',
  ],
  ['responses', 'storage of files, vector stores and logs', 'not part of a call'],
];
