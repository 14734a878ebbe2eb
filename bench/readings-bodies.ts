/** Bodies and chunks as clients and providers send them, by the name of an operation and what they are. */
export type Bodies = Readonly<Record<string, Buffer>>;

const PROSE =
  'The function reads the file, checks each line against the "rules", and returns what it found.\n中文也可以。 ';
const CODE = 'export function add(left: number, right: number): number {\n  return left + right; // "sum"\n}\n\n';

const bytesOf = (bodies: Readonly<Record<string, unknown>>): Bodies =>
  Object.fromEntries(Object.entries(bodies).map(([name, body]) => [name, Buffer.from(JSON.stringify(body))]));

const list = <Item>(count: number, make: (index: number) => Item): Item[] =>
  Array.from({ length: count }, (_, i) => make(i));

const schema = (index: number) => ({
  type: 'object',
  properties: {
    path: { type: 'string', description: `The absolute path of file ${index}, which has to exist.` },
    pattern: { type: 'string', description: 'A regular expression.' },
    limit: { type: 'integer', minimum: 1, maximum: 1_000, description: 'How many lines to read.' },
    mode: { type: 'string', enum: ['fast', 'exact', 'all'] },
    edits: {
      type: 'array',
      items: { type: 'object', properties: { from: { type: 'string' }, to: { type: 'string' } } },
    },
  },
  required: ['path'],
  additionalProperties: false,
});
const callArguments = (index: number) => JSON.stringify({ path: `/src/file-${index}.ts`, limit: 200 });
const toolName = (index: number) => `tool_${index}`;
const description = PROSE.repeat(3);

export function requestBodies(): Bodies {
  return bytesOf({
    'chat plain': {
      model: 'some-model',
      messages: [
        { role: 'system', content: 'You are a helpful assistant.' },
        { role: 'user', content: 'What is the capital of France, and how many people live there?' },
      ],
      temperature: 0.7,
      max_tokens: 500,
    },
    'chat long': {
      model: 'some-model',
      messages: list(40, (i) => ({ role: i % 2 === 0 ? 'user' : 'assistant', content: PROSE.repeat(8) })),
      stream: true,
    },
    'chat agent': {
      model: 'some-model',
      stream: true,
      stream_options: { include_usage: true },
      parallel_tool_calls: true,
      tool_choice: 'auto',
      prompt_cache_key: 'abc',
      tools: list(15, (i) => ({
        type: 'function',
        function: { name: toolName(i), description, parameters: schema(i), strict: false },
      })),
      messages: [
        { role: 'system', content: PROSE.repeat(30) },
        { role: 'user', content: [{ type: 'text', text: PROSE }] },
        ...list(15, (i) => [
          {
            role: 'assistant',
            content: null,
            tool_calls: [
              { id: `call_${i}abc`, type: 'function', function: { name: toolName(i), arguments: callArguments(i) } },
            ],
          },
          { role: 'tool', tool_call_id: `call_${i}abc`, content: CODE.repeat(8) },
        ]).flat(),
      ],
    },
    'messages plain': {
      model: 'some-model',
      max_tokens: 1_024,
      messages: [{ role: 'user', content: 'What is the capital of France, and how many people live there?' }],
    },
    'messages agent': {
      model: 'some-model',
      max_tokens: 32_000,
      stream: true,
      metadata: { user_id: 'user_1_account__session_2' },
      system: [
        { type: 'text', text: 'You are a coding agent.', cache_control: { type: 'ephemeral' } },
        { type: 'text', text: PROSE.repeat(30), cache_control: { type: 'ephemeral' } },
      ],
      thinking: { type: 'adaptive' },
      tools: list(18, (i) => ({ name: toolName(i), description, input_schema: schema(i) })),
      messages: [
        { role: 'user', content: [{ type: 'text', text: PROSE }] },
        ...list(20, (i) => [
          {
            role: 'assistant',
            content: [
              { type: 'thinking', thinking: PROSE, signature: 'EqQBCkYIBxgCKkD'.repeat(12) },
              { type: 'text', text: 'I read the file.' },
              {
                type: 'tool_use',
                id: `toolu_${i}abc`,
                name: toolName(i % 18),
                input: { path: `/src/file-${i}.ts`, limit: 200 },
              },
            ],
          },
          {
            role: 'user',
            content: [
              { type: 'tool_result', tool_use_id: `toolu_${i}abc`, content: [{ type: 'text', text: CODE.repeat(8) }] },
            ],
          },
        ]).flat(),
      ],
    },
    'responses plain': { model: 'some-model', input: 'What is the capital of France?', max_output_tokens: 500 },
    'responses agent': {
      model: 'some-model',
      instructions: PROSE.repeat(30),
      stream: true,
      store: false,
      tool_choice: 'auto',
      parallel_tool_calls: false,
      include: ['reasoning.encrypted_content'],
      prompt_cache_key: 'abc',
      reasoning: { effort: 'medium', summary: 'auto' },
      tools: list(12, (i) => ({
        type: 'function',
        name: toolName(i),
        description,
        strict: false,
        parameters: schema(i),
      })),
      input: [
        { type: 'message', role: 'user', content: [{ type: 'input_text', text: PROSE }] },
        ...list(15, (i) => [
          {
            type: 'reasoning',
            summary: [{ type: 'summary_text', text: PROSE }],
            content: null,
            encrypted_content: 'gAAAAB'.repeat(100),
          },
          { type: 'function_call', name: toolName(i % 12), arguments: callArguments(i), call_id: `call_${i}abc` },
          { type: 'function_call_output', call_id: `call_${i}abc`, output: CODE.repeat(8) },
        ]).flat(),
      ],
    },
    'embeddings texts': { model: 'some-model', input: list(32, () => PROSE) },
  });
}

export function responseBodies(): Bodies {
  const details = { cached_tokens: 30, audio_tokens: 0 };
  const usage = {
    prompt_tokens: 1_234,
    completion_tokens: 987,
    total_tokens: 2_221,
    prompt_tokens_details: details,
    completion_tokens_details: {
      reasoning_tokens: 8,
      audio_tokens: 0,
      accepted_prediction_tokens: 0,
      rejected_prediction_tokens: 0,
    },
  };
  const chat = (content: string) => ({
    id: 'chatcmpl-1',
    object: 'chat.completion',
    created: 1_700_000_000,
    model: 'some-model',
    choices: [
      {
        index: 0,
        message: { role: 'assistant', content, refusal: null, annotations: [] },
        logprobs: null,
        finish_reason: 'stop',
      },
    ],
    usage,
    service_tier: 'default',
    system_fingerprint: 'fp_44709d6fcb',
  });
  const messages = (text: string) => ({
    id: 'msg_01',
    type: 'message',
    role: 'assistant',
    model: 'some-model',
    content: [{ type: 'text', text }],
    stop_reason: 'end_turn',
    stop_sequence: null,
    usage: {
      input_tokens: 1_234,
      cache_creation_input_tokens: 0,
      cache_read_input_tokens: 30,
      cache_creation: { ephemeral_5m_input_tokens: 0, ephemeral_1h_input_tokens: 0 },
      output_tokens: 987,
      service_tier: 'standard',
    },
  });
  const responses = (text: string) => ({
    id: 'resp_1',
    object: 'response',
    created_at: 1_700_000_000,
    status: 'completed',
    model: 'some-model',
    output: [
      {
        id: 'msg_1',
        type: 'message',
        role: 'assistant',
        status: 'completed',
        content: [{ type: 'output_text', text, annotations: [] }],
      },
    ],
    usage: {
      input_tokens: 1_234,
      input_tokens_details: { cached_tokens: 30 },
      output_tokens: 987,
      output_tokens_details: { reasoning_tokens: 8 },
      total_tokens: 2_221,
    },
    store: false,
  });
  return bytesOf({
    'chat short': chat('It is Paris.'),
    'chat 4 KiB': chat(PROSE.repeat(35)),
    'chat 64 KiB': chat(PROSE.repeat(560)),
    'messages short': messages('It is Paris.'),
    'messages 4 KiB': messages(PROSE.repeat(35)),
    'responses short': responses('It is Paris.'),
    'responses 4 KiB': responses(PROSE.repeat(35)),
  });
}

export function streamChunks(): Bodies {
  const chat = (delta: object) =>
    `data: ${JSON.stringify({ id: 'chatcmpl-9Xy1123', object: 'chat.completion.chunk', created: 1_694_268_190, model: 'gpt-4o-mini', system_fingerprint: 'fp_44709d6fcb', choices: [{ index: 0, delta, logprobs: null, finish_reason: null }], usage: null })}\n\n`;
  const event = (type: string, data: object) => `event: ${type}\ndata: ${JSON.stringify({ type, ...data })}\n\n`;
  const chunks = {
    'chat text': chat({ content: 'Hello there' }),
    'chat reasoning': chat({ content: null, reasoning_content: 'Hello there' }),
    'chat tool call': chat({ tool_calls: [{ index: 0, function: { arguments: '"path' } }] }),
    'chat 8 texts': chat({ content: 'Hello there' }).repeat(8),
    'messages text': event('content_block_delta', { index: 0, delta: { type: 'text_delta', text: 'Hello there' } }),
    'messages thinking': event('content_block_delta', {
      index: 0,
      delta: { type: 'thinking_delta', thinking: 'Hello there' },
    }),
    'messages tool': event('content_block_delta', {
      index: 1,
      delta: { type: 'input_json_delta', partial_json: '{"path": "/s' },
    }),
    'messages 8 texts': event('content_block_delta', {
      index: 0,
      delta: { type: 'text_delta', text: 'Hello there' },
    }).repeat(8),
    'responses text': event('response.output_text.delta', {
      sequence_number: 12,
      item_id: 'msg_1',
      output_index: 0,
      content_index: 0,
      delta: 'Hello there',
      logprobs: [],
      obfuscation: 'aBcDeFgHiJk',
    }),
    'responses tool': event('response.function_call_arguments.delta', {
      sequence_number: 12,
      item_id: 'fc_1',
      output_index: 0,
      delta: '{"path',
      obfuscation: 'aBcDeFgHiJk',
    }),
  };
  return Object.fromEntries(Object.entries(chunks).map(([name, chunk]) => [name, Buffer.from(chunk)]));
}
