import type { Dice } from '../../src/lib/dice.ts';

/**
 * A simulated vendor. It generates the usage of a call, records its bill, and then reports the usage in a protocol's dialect. So the
 * gateway's view and the bill are independent representations of the same usage.
 */

/** The bill of a call: quantities by item, and multipliers for its tokens. */
export interface BillLine {
  readonly model: string;
  readonly items: Items;
  /** Further runs of the model in the same call, each billed by the length of its own input. */
  readonly moreRuns: readonly Items[];
  readonly multipliers: readonly string[];
}

/** The bill of a call in the corpus: quantities with prices in nano-yuan. */
export interface PricedLines {
  readonly model: string;
  readonly lines: readonly (readonly [quantity: number, priceNano: number])[];
}

export interface Items {
  readonly [item: string]: number;
}

/** A generated call. */
export interface DrawnCall {
  readonly operation: Operation;
  /** The public name of the model. */
  readonly model: string;
  readonly isStream: boolean;
  /** Members of the request in addition to its text. */
  readonly request: Readonly<Record<string, unknown>>;
  /** The vendor's response, as an object. */
  readonly response: Readonly<Record<string, unknown>>;
  /** Replaces the response, byte for byte. */
  readonly body?: Buffer;
  /** `null`: the vendor refuses the call, and bills nothing. */
  readonly bill: BillLine | PricedLines | null;
}

/** A call that was made, with its bill. */
export interface MadeCall extends DrawnCall {
  readonly bill: BillLine | null;
}

export const OPERATIONS = [
  'chat',
  'responses',
  'compact',
  'messages',
  'embeddings',
  'rerank',
  'generate',
  'edit',
] as const;
export type Operation = (typeof OPERATIONS)[number];

export function drawCall(dice: Dice): MadeCall {
  const operation = dice.one(OPERATIONS);
  const drawn = draw[operation](dice);
  return dice.next() < 0.05 ? { ...drawn, bill: null } : drawn;
}

const draw: Readonly<Record<Operation, (dice: Dice) => MadeCall>> = {
  chat: drawChat,
  responses: drawResponses,
  compact: drawCompact,
  messages: drawMessages,
  embeddings(dice) {
    const text = dice.upTo(3_000);
    const response = dice.one([
      { usage: { prompt_tokens: text, total_tokens: text } },
      { meta: { billed_units: { input_tokens: text } } },
    ]);
    return call('embeddings', 'embedder', { response: { data: [], ...response }, items: { text_in: text } });
  },
  rerank(dice) {
    const units = 1 + dice.upTo(3);
    const text = dice.upTo(3_000);
    return dice.one([
      call('rerank', 'ranker', { response: { results: [], usage: { total_tokens: text } }, items: { text_in: text } }),
      call('rerank', 'ranker-by-unit', {
        response: {
          results: [],
          ...dice.one<object>([
            { meta: { billed_units: { search_units: units } } },
            { usage: { search_units: units, total_tokens: text } },
          ]),
        },
        items: { search_unit: units },
        request: { documents: Array.from({ length: 400 }, (_, i) => `document ${i}`) },
      }),
      call('rerank', 'ranker-by-call', { response: { results: [] }, items: { call: 1 } }),
    ]);
  },
  generate: (dice) => drawImages(dice, 'generate'),
  edit: (dice) => drawImages(dice, 'edit'),
};

/** The requested service tier, and the one that the vendor used. */
function drawTier(dice: Dice, tiers: readonly string[]): { asked: string | null; served: string } {
  const asked = dice.one([null, null, ...tiers]);
  const served = asked === null || dice.next() < 0.2 ? 'default' : asked;
  return { asked, served };
}

const tierMultiplier = (served: string): string[] => (served === 'default' ? [] : [`tier ${served}`]);

function drawChat(dice: Dice): MadeCall {
  const { asked, served } = drawTier(dice, ['flex', 'priority']);
  const items = {
    text_in: 1 + dice.upTo(6_000),
    cached_in: dice.some(3_000),
    written_in: dice.some(500),
    audio_in: dice.some(300),
    text_out: 1 + dice.upTo(1_500),
    audio_out: dice.some(200),
    web_search: dice.some(4),
  };
  // Equal figures could hide confused counters.
  const reasoning = dice.next() < 0.1 ? items.cached_in : dice.some(400);
  const tools =
    items.web_search === 0
      ? {}
      : dice.one<object>([
          { num_search_queries: items.web_search },
          { server_tool_use: { web_search_requests: items.web_search } },
          { plugins: { search: { count: items.web_search } } },
        ]);
  const usage = { ...drawChatUsage(dice, items, reasoning), ...tools };
  return call('chat', 'talker', {
    isStream: dice.next() < 0.5,
    request: asked === null ? {} : { service_tier: asked },
    response: { object: 'chat.completion', service_tier: served, usage },
    items: { ...items, text_out: items.text_out + reasoning },
    multipliers: tierMultiplier(served),
  });
}

interface ChatItems extends Items {
  readonly text_in: number;
  readonly cached_in: number;
  readonly written_in: number;
  readonly audio_in: number;
  readonly text_out: number;
  readonly audio_out: number;
}

/** The tokens of a chat in the dialect of a vendor or a relay. */
function drawChatUsage(dice: Dice, items: ChatItems, reasoning: number): object {
  const { cached_in, written_in, audio_in, audio_out } = items;
  const prompt = items.text_in + cached_in + written_in + audio_in;
  const visible = items.text_out + audio_out;
  const inDetails = { cached_tokens: cached_in, cache_write_tokens: written_in, audio_tokens: audio_in };
  const outDetails = { reasoning_tokens: reasoning, audio_tokens: audio_out };
  const details = { prompt_tokens_details: inDetails, completion_tokens_details: outDetails };
  const usage = dice.one<object>([
    { prompt_tokens: prompt, completion_tokens: visible + reasoning, ...details },
    // Reasoning in the total only.
    { prompt_tokens: prompt, completion_tokens: visible, ...details },
    // The cache in the total only, as relays for messages vendors report it.
    {
      prompt_tokens: prompt - cached_in - written_in,
      completion_tokens: visible + reasoning,
      ...details,
      prompt_tokens_details: { audio_tokens: audio_in },
      cache_read_input_tokens: cached_in,
      cache_creation_input_tokens: written_in,
    },
    // The names in the responses protocol.
    {
      input_tokens: prompt,
      output_tokens: visible + reasoning,
      input_tokens_details: inDetails,
      output_tokens_details: outDetails,
    },
  ]);
  return { ...usage, total_tokens: prompt + visible + reasoning };
}

function drawResponsesUsage(dice: Dice) {
  const items = {
    text_in: 1 + dice.upTo(6_000),
    cached_in: dice.some(3_000),
    written_in: dice.some(300),
    written_long_in: dice.some(300),
    text_out: 1 + dice.upTo(1_500),
  };
  const input = items.text_in + items.cached_in + items.written_in + items.written_long_in;
  const thought = dice.some(items.text_out);
  const usage = {
    input_tokens: input,
    output_tokens: items.text_out,
    total_tokens: input + items.text_out,
    input_tokens_details: {
      cached_tokens: items.cached_in,
      cache_write_tokens: items.written_in + items.written_long_in,
      cache_write_tokens_details: { ttl_30m_tokens: items.written_in, ttl_12h_tokens: items.written_long_in },
    },
    output_tokens_details: { reasoning_tokens: thought },
  };
  // Part of the output: it is billed by the choice of prices.
  return { items: { ...items, thought }, usage };
}

function drawResponses(dice: Dice): MadeCall {
  const { asked, served } = drawTier(dice, ['flex', 'priority']);
  const { items, usage } = drawResponsesUsage(dice);
  const tools = {
    web_search: dice.some(4),
    file_search: dice.some(2),
    code_run: dice.some(3),
    container: 0,
    other_tool: dice.some(2),
  };
  // Code runs in one of two containers, one of which an earlier call created.
  const runs = Array.from({ length: tools.code_run }, () => dice.one(['cntr_old', 'cntr_new']));
  tools.container = runs.includes('cntr_new') ? 1 : 0;
  const namesOld = runs.includes('cntr_old');
  const saysBilled = dice.next() < 0.5;
  // The input of a tool loop is the sum over its rounds, each of which fits into the context.
  const more = items.text_in * (tools.web_search + tools.file_search + tools.code_run + tools.other_tool);
  const looped = { ...usage, input_tokens: usage.input_tokens + more, total_tokens: usage.total_tokens + more };
  const output = [
    ...Array.from({ length: tools.web_search }, () => ({ type: 'web_search_call', action: { type: 'search' } })),
    ...Array.from({ length: dice.some(2) }, () => ({ type: 'web_search_call', action: { type: 'open_page' } })),
    ...Array.from({ length: tools.file_search }, () => ({ type: 'file_search_call' })),
    ...runs.map((container_id) => ({ type: 'code_interpreter_call', container_id })),
    ...Array.from({ length: tools.other_tool }, () => ({ type: 'mcp_call' })),
    { type: 'message', id: 'msg_1', content: [] },
  ];
  return call('responses', 'thinker', {
    isStream: dice.next() < 0.5,
    request: {
      tools: [
        { type: 'web_search' },
        { type: 'code_interpreter', container: namesOld ? 'cntr_old' : { type: 'auto' } },
      ],
      ...(asked !== null && { service_tier: asked }),
    },
    response: {
      id: 'resp_1',
      object: 'response',
      status: 'completed',
      service_tier: served,
      output,
      usage: looped,
      ...(saysBilled && { tool_usage: { web_search: { num_requests: tools.web_search } } }),
    },
    items: { ...items, text_in: items.text_in + more, ...tools },
    multipliers: tierMultiplier(served),
  });
}

function drawCompact(dice: Dice): MadeCall {
  const { items, usage } = drawResponsesUsage(dice);
  const output = [{ type: 'compaction', id: 'cmp_1', encrypted_content: 'opaque' }];
  return call('compact', 'thinker', {
    response: { id: 'resp_1', object: 'response.compaction', created_at: 1, output, usage },
    items,
  });
}

interface MessagesRun extends Items {
  readonly text_in: number;
  readonly cached_in: number;
  readonly written_in: number;
  readonly written_long_in: number;
  readonly text_out: number;
}

function drawMessagesRun(dice: Dice): MessagesRun {
  return {
    text_in: 1 + dice.upTo(6_000),
    cached_in: dice.some(3_000),
    written_in: dice.some(300),
    written_long_in: dice.some(300),
    text_out: 1 + dice.upTo(1_500),
  };
}

const messagesFigures = (run: MessagesRun) => ({
  input_tokens: run.text_in,
  cache_read_input_tokens: run.cached_in,
  cache_creation_input_tokens: run.written_in + run.written_long_in,
  cache_creation: {
    ephemeral_5m_input_tokens: run.written_in,
    ephemeral_1h_input_tokens: run.written_long_in,
  },
  output_tokens: run.text_out,
});

/** The totals include the rounds of a tool loop, but not the summary of a long context. */
function drawMessages(dice: Dice): MadeCall {
  const { asked, served } = drawTier(dice, ['fast']);
  const geo = dice.one(['global', 'us', null]);
  const turns = Array.from({ length: dice.next() < 0.3 ? 2 : 1 }, () => drawMessagesRun(dice));
  const summaries = dice.next() < 0.3 ? [drawMessagesRun(dice)] : [];
  const tools = { web_search: dice.some(3), web_fetch: dice.some(3) };
  const isListed = turns.length > 1 || dice.next() < 0.4;
  const name = dice.one([{}, { model: null }, { model: 'v-writer' }, { model: 'v-writer-20261001' }]);
  const iterations = [
    ...summaries.map((run) => ({ type: 'compaction', ...messagesFigures(run) })),
    ...(isListed ? turns.map((run) => ({ type: 'message', ...name, ...messagesFigures(run) })) : []),
  ];
  const total = (item: keyof MessagesRun): number => turns.reduce((sum, run) => sum + run[item]!, 0);
  const usage = {
    ...messagesFigures({
      text_in: total('text_in'),
      cached_in: total('cached_in'),
      written_in: total('written_in'),
      written_long_in: total('written_long_in'),
      text_out: total('text_out'),
    }),
    server_tool_use: { web_search_requests: tools.web_search, web_fetch_requests: tools.web_fetch },
    service_tier: 'standard',
    speed: served === 'fast' ? 'fast' : 'standard',
    inference_geo: geo,
    ...(iterations.length > 0 && { iterations }),
  };
  const [first, ...others] = [...turns, ...summaries];
  return call('messages', 'writer', {
    isStream: dice.next() < 0.5,
    request: {
      max_tokens: 4_000,
      tools: [{ type: 'web_search_20260209', name: 'web_search' }],
      ...(asked !== null && { speed: asked }),
    },
    response: { type: 'message', role: 'assistant', content: [], stop_reason: 'end_turn', usage },
    items: { ...first, ...tools },
    moreRuns: others,
    multipliers: [...(served === 'fast' ? ['speed fast'] : []), ...(geo === 'us' ? ['geo us'] : [])],
  });
}

function drawImages(dice: Dice, operation: 'generate' | 'edit'): MadeCall {
  const n = 1 + dice.upTo(2);
  const data = Array.from({ length: n }, () => ({ b64_json: 'AAAA' }));
  if (dice.next() < 0.5) {
    const quality = dice.one(['low', 'high']);
    const response = { created: 1, data, quality, size: '1024x1024' };
    return call(operation, 'painter-by-image', { response, request: { n }, items: { [`image ${quality}`]: n } });
  }
  const items = { text_in: dice.upTo(500), image_in: dice.some(2_000), image_out: dice.upTo(4_000) };
  const input = items.text_in + items.image_in;
  const usage = {
    input_tokens: input,
    input_tokens_details: { text_tokens: items.text_in, image_tokens: items.image_in },
    output_tokens: items.image_out,
    total_tokens: input + items.image_out,
  };
  return call(operation, 'painter', { response: { created: 1, data, usage }, request: { n }, items });
}

interface Drawn {
  readonly response: object;
  readonly items: BillLine['items'];
  readonly request?: object;
  readonly isStream?: boolean;
  readonly moreRuns?: readonly Items[];
  readonly multipliers?: readonly string[];
}

function call(
  operation: Operation,
  model: string,
  { response, items, request = {}, isStream = false, moreRuns = [], multipliers = [] }: Drawn,
): MadeCall {
  return {
    operation,
    model,
    isStream,
    request: { ...request },
    response: { ...response },
    bill: { model, items, moreRuns, multipliers },
  };
}
