import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { CHAT_TABLE } from './chat/state-references.ts';
import { MESSAGES_TABLE } from './messages/state-references.ts';
import { BodyFields } from './operations/fields.ts';
import { PLAIN_TABLE } from './plain-references.ts';
import { readNamedState } from './request-reader.ts';
import { RESPONSES_TABLE } from './responses/state-references.ts';

/** What each protocol reads in a body (docs/provider-state.md): one line per reference or unlisted part. */

const TABLES = { chat: CHAT_TABLE, messages: MESSAGES_TABLE, responses: RESPONSES_TABLE, plain: PLAIN_TABLE };
type Protocol = keyof typeof TABLES;

function found(protocol: Protocol, body: object | string): string[] {
  const bytes = Buffer.from(typeof body === 'string' ? body : JSON.stringify(body));
  const { references, unlisted } = readNamedState(BodyFields.read(bytes).reader(), TABLES[protocol]);
  return [
    ...references.map(({ kind, id, param }) => `${kind} ${id} at ${param}`),
    ...unlisted.map(({ name, param }) => `${name} at ${param}`),
  ];
}

/** The protocol, the body, and the expected result. */
type Case = readonly [protocol: Protocol, body: object | string, ...found: string[]];

const shell = (environment: object) => ({ type: 'shell', environment });
const tools = (...list: unknown[]) => ({ tools: list });
const items = (...list: object[]) => ({ input: list });
const said = (...blocks: object[]) => ({ messages: [{ role: 'user', content: blocks }] });

/** Addresses that some parser does not resolve to the internet. */
const INNER_ADDRESSES = [
  ...[
    'http://169.254.169.254/latest/meta-data/',
    'HTTP://127.0.0.1:8000/a.png',
    'https://[::1]/a',
    'http://2130706433/a',
  ],
  ...['http://0x7f.1/a.png', 'http://\uff11\uff12\uff17.0.0.1/a', 'http://minio:9000/b/a.png', 'https://localhost./a'],
  ...['https://example.com\\@127.0.0.1/a.png', 'https://example.com@127.0.0.1/a', 'http://db.svc/a', 'https://'],
  ...['http://DB.Internal?a', 'http://a.local', 'http://127.0.0.0x1/a', 'https://a.b.lan:80/', 'http://a.b\\@c.corp/'],
];

const REFERENCES: readonly Case[] = [
  ...INNER_ADDRESSES.flatMap((url): Case[] => [
    ['chat', said({ type: 'image_url', image_url: { url } }), 'network  at messages[0].content[0].image_url.url'],
    [
      'messages',
      said({ type: 'image', source: { type: 'url', url } }),
      'network  at messages[0].content[0].source.url',
    ],
    ['responses', items({ role: 'user', content: [{ image_url: url }] }), 'network  at input[0].content[0].image_url'],
    ['plain', { input: [{ image: url }] }, 'network  at input[0].image'],
  ]),
  // Blocks with names of other vendors.
  [
    'responses',
    items({ role: 'user', content: [{ type: 'input_video', video_url: 'oss://b/k' }] }),
    'file oss://b/k at input[0].content[0].video_url',
  ],
  [
    'messages',
    said({ type: 'image_url', image_url: 'oss://b/k' }),
    'file oss://b/k at messages[0].content[0].image_url',
  ],
  ['messages', said({ type: 'video', video: ['gs://b/k'] }), 'file gs://b/k at messages[0].content[0].video[0]'],
  ['plain', { input: { contents: [{ image: 'oss://b/k' }] } }, 'file oss://b/k at input.contents[0].image'],
  [
    'plain',
    { inputs: [{ content: [{ image_url: 'file-abc123' }] }] },
    'file file-abc123 at inputs[0].content[0].image_url',
  ],
  ['plain', { query: { image: 'file:///etc/passwd' } }, 'file file:///etc/passwd at query.image'],
  ['plain', { documents: [{ file_id: 'f' }] }, 'file f at documents[0].file_id'],
  // Nested lists.
  ['responses', { input: [[{ type: 'item_reference', id: 'msg_1' }]] }, 'item msg_1 at input[0][0].id'],
  [
    'messages',
    said([{ type: 'image', source: { file_id: 'f' } }] as object),
    'file f at messages[0].content[0][0].source.file_id',
  ],
  ['chat', said([{ image_url: 'oss://b/k' }] as object), 'file oss://b/k at messages[0].content[0][0].image_url'],
  ['chat', said({ image_url: [['oss://b/k']] }), 'file oss://b/k at messages[0].content[0].image_url[0][0]'],
  // Stored prompts under a name that other vendors use for text.
  ['chat', { prompt: { id: 'pmpt_1' } }, 'prompt pmpt_1 at prompt.id'],
  ['messages', { prompt: { id: 'my-prompt' } }, 'prompt my-prompt at prompt.id'],
  ['chat', { lora: [{ id: 0, scale: 1 }] }, 'adapter  at lora'],
  // Addresses in various spellings.
  ...['\\u006ds://f', 'ms:\\u002f/f', 'ms:\\/\\/f', ' \\n\\u0009ms://f'].flatMap((url): Case[] => [
    [
      'chat',
      `{"messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"${url}"}}]}]}`,
      `file ${JSON.parse(`"${url}"`)} at messages[0].content[0].image_url.url`,
    ],
    [
      'responses',
      `{"input":[{"role":"user","content":[{"type":"input_image","image_url":"${url}"}]}]}`,
      `file ${JSON.parse(`"${url}"`)} at input[0].content[0].image_url`,
    ],
    ['plain', `{"image":["${url}"]}`, `file ${JSON.parse(`"${url}"`)} at image[0]`],
  ]),
  ...['file:/etc/passwd', '/data/a.png', '../a.png', 'file-abc123'].map(
    (url): Case => [
      'chat',
      said({ type: 'image_url', image_url: { url } }),
      `file ${url} at messages[0].content[0].image_url.url`,
    ],
  ),
  ['chat', '{"messages":[{"role":"system","content":"\\u0066ileid://f"}]}', 'file fileid://f at messages[0].content'],
  ['chat', '{"messages":[{"role":"system","content":[" fileid://f"]}]}', 'file  fileid://f at messages[0].content[0]'],
  ['messages', { system: 'fileid://f' }, 'file fileid://f at system'],
  ['messages', said({ type: 'text', text: 'fileid://f' }), 'file fileid://f at messages[0].content[0].text'],
  ['responses', { instructions: 'fileid://f' }, 'file fileid://f at instructions'],
  ['responses', { input: 'fileid://f' }, 'file fileid://f at input'],
  [
    'messages',
    said({ type: 'image', source: { type: 's3', uri: 's3://bucket/x' } }),
    'file s3://bucket/x at messages[0].content[0].source.uri',
  ],
  [
    'chat',
    said({ type: 'image', source: { s3Location: { uri: 's3://bucket/x' } } }),
    'file s3://bucket/x at messages[0].content[0].source.s3Location.uri',
  ],
  [
    'chat',
    said({ type: 'input_audio', input_audio: { data: 'oss://f', format: 'mp3' } }),
    'file oss://f at messages[0].content[0].input_audio.data',
  ],
  [
    'messages',
    said({ type: 'image', source: { type: 'url', url: '/data/a.png' } }),
    'file /data/a.png at messages[0].content[0].source.url',
  ],
  ['chat', { audio: { format: 'mp3', voice: { id: 'voice_1' } } }, 'profile voice_1 at audio.voice.id'],
  // Model servers and relays.
  ...['chat', 'messages', 'responses', 'plain'].flatMap((protocol): Case[] =>
    [
      ...['adapter_id', 'adapter_source', 'lora_id', 'lora_request', 'chat_template'].map((name) => ['adapter', name]),
      ...['bootstrap_pair_key', 'user_config', 'aws_bedrock_runtime_endpoint', 'aws_sts_endpoint'].map((name) => [
        'network',
        name,
      ]),
      ...['aws_role_name', 'aws_web_identity_token', 'vertex_credentials', 'azure_ad_token'].map((name) => [
        'network',
        name,
      ]),
    ].map(([kind, name]): Case => [protocol as Protocol, { [name!]: 'x' }, `${kind}  at ${name}`]),
  ),
  ['chat', { chat_template_kwargs: { chat_template: 'x' } }, 'adapter  at chat_template_kwargs.chat_template'],
  ['chat', { vllm_xargs: { kv_transfer_params: {} } }, 'cache  at vllm_xargs.kv_transfer_params'],
  ['chat', { preset: 'p' }, 'prompt p at preset'],
  [
    'responses',
    { tool_choice: { type: 'allowed_tools', tools: [shell({ container_id: 'c' })] } },
    'container c at tool_choice.tools[0].environment.container_id',
  ],
  // Tools, at the top level and within content.
  [
    'responses',
    tools(shell({ type: 'container_reference', container_id: 'c' })),
    'container c at tools[0].environment.container_id',
  ],
  [
    'responses',
    items({ type: 'additional_tools', role: 'developer', tools: [shell({ container_id: 'c' })] }),
    'container c at input[0].tools[0].environment.container_id',
  ],
  [
    'responses',
    items({ type: 'tool_search_output', tools: [{ type: 'code_interpreter', container: 'c' }] }),
    'container c at input[0].tools[0].container',
  ],
  [
    'responses',
    tools(shell({ type: 'container_auto', skills: [{ type: 'skill_reference', skill_id: 's', version: '1' }] })),
    'skill s at tools[0].environment.skills[0].skill_id',
  ],
  ['responses', tools({ type: 'mcp', server_label: 'x', tunnel_id: 't' }), 'tunnel t at tools[0].tunnel_id'],
  [
    'responses',
    tools({ type: 'mcp', server_label: 'x', connector_id: 'connector_68ab' }),
    'connector connector_68ab at tools[0].connector_id',
  ],
  ['responses', tools({ type: 'mcp', server_label: 'x', connector_id: 'connector_gmail', authorization: 'a' })],
  [
    'responses',
    tools({ type: 'image_generation', input_image_mask: { file_id: 'f' } }),
    'file f at tools[0].input_image_mask.file_id',
  ],
  [
    'responses',
    tools({ type: 'file_search', vector_store_ids: ['v'] }),
    'vector_store v at tools[0].vector_store_ids[0]',
  ],
  ['responses', tools({ type: 'file_search', vector_store_ids: 'v' }), 'vector_store v at tools[0].vector_store_ids'],
  [
    'responses',
    tools({ type: 'namespace', name: 'n', tools: [shell({ container_id: 'c' })] }),
    'container c at tools[0].tools[0].environment.container_id',
  ],
  ['chat', tools(shell({ container_id: 'c' })), 'container c at tools[0].environment.container_id'],
  [
    'chat',
    { messages: [{ role: 'system', tools: [shell({ container_id: 'c' })] }] },
    'container c at messages[0].tools[0].environment.container_id',
  ],
  [
    'messages',
    said({ type: 'tool_addition', tool: { type: 'tool_definition', definition: shell({ container_id: 'c' }) } }),
    'container c at messages[0].content[0].tool.definition.environment.container_id',
  ],
  [
    'responses',
    { extra_body: tools(shell({ container_id: 'c' })) },
    'container c at extra_body.tools[0].environment.container_id',
  ],
  // A client tool has no provider state, whatever its name.
  ['responses', tools({ type: 'local_shell', container_id: 'c' }), 'container c at tools[0].container_id'],
  [
    'messages',
    tools({ type: 'bash_20250124', name: 'bash', memory_store_id: 'm' }),
    'state m at tools[0].memory_store_id',
  ],
  // The type may be the last member.
  [
    'responses',
    '{"tools":[{"environment":{"container_id":"c"},"type":"shell"}]}',
    'container c at tools[0].environment.container_id',
  ],
  // Items.
  ['responses', items({ type: 'new_kind', id: 'i' }), 'item i at input[0].id'],
  ['responses', items({ type: 'new_kind', id: 'i', label: 'x' }), 'item i at input[0].id'],
  ['responses', items({ type: 'new_kind', place: { sandbox_id: 's' } }), 'state s at input[0].place.sandbox_id'],
  [
    'responses',
    items({ type: 'new_kind', content: 'x', container: 'cntr_1' }),
    'container cntr_1 at input[0].container',
  ],
  [
    'responses',
    items({ role: 'user', content: [{ type: 'new_block', memory_ids: ['m'] }] }),
    'state m at input[0].content[0].memory_ids[0]',
  ],
  ['responses', { input: { type: 'item_reference', id: 'i' } }, 'item i at input.id'],
  [
    'responses',
    items({ role: 'user', content: [{ type: 'input_image', image_url: 'oss://bucket/a.png' }] }),
    'file oss://bucket/a.png at input[0].content[0].image_url',
  ],
  [
    'chat',
    said({ type: 'image_url', image_url: { url: 'ms://file-1' } }),
    'file ms://file-1 at messages[0].content[0].image_url.url',
  ],
  [
    'chat',
    '{"messages":[{"content":[{"type":"video_url","video_url":{"url":"file:\\/\\/\\/etc/passwd"}}]}]}',
    'file file:///etc/passwd at messages[0].content[0].video_url.url',
  ],
  [
    'chat',
    { messages: [{ role: 'system', content: 'fileid://file-fe-1' }] },
    'file fileid://file-fe-1 at messages[0].content',
  ],
  [
    'messages',
    said({ type: 'image', source: { type: 'url', url: 'gs://bucket/a' } }),
    'file gs://bucket/a at messages[0].content[0].source.url',
  ],
  [
    'messages',
    said({
      type: 'tool_result',
      content: [
        { type: 'document', source: { type: 'content', content: [{ type: 'image', source: { file_id: 'f' } }] } },
      ],
    }),
    'file f at messages[0].content[0].content[0].source.content[0].source.file_id',
  ],
  ['messages', said({ type: 'memory', memory_store_id: 'm' }), 'state m at messages[0].content[0].memory_store_id'],
  // The top level, including relay extensions.
  ['messages', { thread: { type: 'continue', previous_message_id: 'm' } }, 'thread m at thread.previous_message_id'],
  ['messages', { diagnostics: { previous_message_id: 'm' } }, 'state m at diagnostics.previous_message_id'],
  [
    'messages',
    { extra_body: { thread: { previous_message_id: 'm' } } },
    'thread m at extra_body.thread.previous_message_id',
  ],
  [
    'messages',
    { user_profile_id: 'u', workspace_id: 'w' },
    'profile u at user_profile_id',
    'profile w at workspace_id',
  ],
  [
    'messages',
    { container: { skills: [{ skill_id: 's', type: 'custom' }] } },
    'skill s at container.skills[0].skill_id',
  ],
  ['messages', { container: { skills: [{ skill_id: 'pptx', type: 'anthropic' }] } }],
  [
    'responses',
    { prompt_cache_options: { comparison_response_id: 'r' } },
    'response r at prompt_cache_options.comparison_response_id',
  ],
  ...(['chat', 'messages', 'responses', 'plain'] as const).flatMap((protocol): Case[] => [
    [protocol, { previous_response_id: 'r' }, 'response r at previous_response_id'],
    [protocol, { conversation: { id: 'c' } }, 'conversation c at conversation.id'],
    [protocol, { extra_body: { previous_response_id: 'r' } }, 'response r at extra_body.previous_response_id'],
    [
      protocol,
      { extra_body: { extra_body: { conversation: 'c' } } },
      'conversation c at extra_body.extra_body.conversation',
    ],
    [protocol, { kv_transfer_params: { remote_host: 'h' } }, 'cache  at kv_transfer_params'],
    [protocol, { bootstrap_host: 'h', bootstrap_room: 5 }, 'network  at bootstrap_host', 'network  at bootstrap_room'],
    [
      protocol,
      { extra_body: { google: { cached_content: 'cachedContents/1' } } },
      'cache cachedContents/1 at extra_body.google.cached_content',
    ],
    [protocol, { data_sources: [{ type: 'azure_search' }] }, 'network  at data_sources'],
    // New fields are allowed unless their content looks like a vendor's id.
    [protocol, { new_field: 'resp_scene_2' }, 'response resp_scene_2 at new_field'],
    [protocol, { new_field: 'resp_68af4030' }, 'response resp_68af4030 at new_field'],
    [protocol, { new_field: { deeper: ['x', 'cntr_12'] } }, 'container cntr_12 at new_field.deeper[1]'],
    [protocol, { new_field: { group_id: 'any text' }, trace_id: 'abc', session: 'session of today' }],
    [protocol, { user: 'resp_68af4030', metadata: { message: 'msg_01' }, prompt_cache_key: 'conv_1' }],
    [protocol, { tag: 'file_upload_2', other: 'thread_safe', more: 'vs_code', name: 'container' }],
  ]),
];

const UNLISTED: readonly Case[] = [
  ['responses', tools({ type: 'x_search' }), 'tools.x_search at tools[0].type'],
  [
    'chat',
    tools({ type: 'function', function: { name: 'f' } }, { type: 'x_search', from_date: '2026' }),
    'tools.x_search at tools[1].type',
  ],
  ['messages', tools({ type: 'new_tool_20261101', name: 'x' }), 'tools.new_tool_20261101 at tools[0].type'],
  ['chat', tools({ type: 'openrouter:web_search' }), 'tools.openrouter:web_search at tools[0].type'],
  ['chat', tools({ google_search: {} }), 'tools.google_search at tools[0]'],
  ['chat', tools('web_search'), 'tools.web_search at tools[0]'],
  ['chat', tools({ type: 7 }), 'tools.? at tools[0].type'],
  ['chat', tools({ type: 'constructor' }), 'tools.constructor at tools[0].type'],
  [
    'chat',
    tools({ type: 'Shell', environment: { container_id: 'c' } }),
    'container c at tools[0].environment.container_id',
    'tools.Shell at tools[0].type',
  ],
  [
    'responses',
    tools({ type: 'retrieval', retrieval: { knowledge_id: 'k' } }),
    'vector_store k at tools[0].retrieval.knowledge_id',
    'tools.retrieval at tools[0].type',
  ],
  ['responses', tools({ type: 'web_search', new_member: 'x' }), 'tools.web_search.new_member at tools[0].new_member'],
  ['responses', tools({ type: 'web_search_preview_2025_03_11', x: 1 }), 'tools.web_search.x at tools[0].x'],
  ['messages', tools({ type: 'web_search_20991231', name: 'web_search', x: 1 }), 'tools.web_search.x at tools[0].x'],
  [
    'responses',
    tools(shell({ type: 'container_auto', mounts: [] })),
    'tools.shell.environment.mounts at tools[0].environment.mounts',
  ],
  [
    'responses',
    tools(shell({ skills: [{ type: 'skill_reference', owner: 'x' }] })),
    'tools.shell.environment.skills.owner at tools[0].environment.skills[0].owner',
  ],
  [
    'responses',
    tools({ type: 'web_search', search_context_size: { id: 'x' } }),
    'tools.web_search.search_context_size at tools[0].search_context_size',
  ],
  ['responses', tools({ type: 'image_generation', size: [{}] }), 'tools.image_generation.size at tools[0].size[0]'],
  ['responses', tools({ type: 'shell', environment: 'x' }), 'tools.shell.environment at tools[0].environment'],
  [
    'responses',
    items({ type: 'additional_tools', tools: [{ type: 'x_search' }] }),
    'tools.x_search at input[0].tools[0].type',
  ],
  ['responses', { extra_body: tools({ type: 'x_search' }) }, 'tools.x_search at extra_body.tools[0].type'],
  ...[
    'http://10.0.0.1/mcp',
    'http://vault:8080',
    'litellm_proxy/mcp/zapier',
    'https://[::1]/',
    'https://a.internal',
    'http://0x7f.1/',
  ].map(
    (server_url): Case => [
      'responses',
      tools({ type: 'mcp', server_label: 'x', server_url }),
      'tools.mcp.server_url at tools[0].server_url',
    ],
  ),
  [
    'messages',
    { mcp_servers: [{ type: 'url', name: 'x', url: 'http://localhost:3000' }] },
    'mcp_servers.url at mcp_servers[0].url',
  ],
  [
    'messages',
    { mcp_servers: [{ type: 'url', name: 'x', url: 'https://mcp.example/', vault: 'y' }] },
    'mcp_servers.vault at mcp_servers[0].vault',
  ],
  ['chat', tools([{ type: 'x_search' }]), 'tools.x_search at tools[0][0].type'],
  [
    'chat',
    tools({ type: 'custom', name: 'x', tools: [{ type: 'mcp', server_url: 'http://10.0.0.1' }] }),
    'tools.mcp.server_url at tools[0].tools[0].server_url',
  ],
  ['messages', { mcp_servers: { a: { url: 'http://10.0.0.1/' } } }, 'mcp_servers at mcp_servers'],
  [
    'chat',
    { tool_choice: { type: 'allowed_tools', tools: [{ type: 'x_search' }] } },
    'tools.x_search at tool_choice.tools[0].type',
  ],
];

const CONTENT: readonly Case[] = [
  [
    'chat',
    {
      tools: [
        {
          type: 'function',
          function: {
            name: 'f',
            parameters: {
              type: 'object',
              properties: { container_id: { type: 'string' }, file_ids: { default: ['file-1'] } },
            },
          },
        },
        {
          type: 'custom',
          custom: { name: 'g', format: { type: 'grammar', grammar: { syntax: 'lark', definition: 'x' } } },
        },
        { function: { name: 'without a type' } },
      ],
      messages: [
        {
          role: 'assistant',
          content: null,
          tool_calls: [{ id: 'c1', type: 'function', function: { name: 'f', arguments: '{}' } }],
        },
        { role: 'tool', tool_call_id: 'c1', content: 'https://x.example/ resp_68af4030' },
        {
          role: 'assistant',
          content: 'x',
          reasoning_details: [{ type: 'reasoning.encrypted', id: 'rs_12', data: 'x' }],
        },
        { role: 'user', content: [{ type: 'image_url', image_url: { url: 'data:image/png;base64,aGk=' } }] },
        { role: 'user', content: [{ type: 'image_url', image_url: { url: 'HTTPS://x.example/a.png' } }] },
        { role: 'user', content: 'file_1234' },
        { role: 'user', content: 'Note: x://y, and 1: C:\\a' },
        { role: 'user', content: [{ type: 'image_url', image_url: { url: '/9j/4AAQSkZJRg==' } }] },
        { role: 'user', content: [{ type: 'input_audio', input_audio: { data: 'SUQzBA==', format: 'mp3' } }] },
        { role: 'user', content: [{ type: 'image_url', image_url: { url: ' \nhttps://x.example/a.png' } }] },
      ],
      chat_template_kwargs: { enable_thinking: false },
      vllm_xargs: { ngram_size: 35 },
      audio: { format: 'mp3', voice: 'alloy' },
      tool_choice: { type: 'function', function: { name: 'file-abc1' } },
    },
  ],
  [
    'messages',
    {
      tools: [
        {
          name: 'f',
          input_schema: { type: 'object', properties: { file_id: { type: 'string' } } },
          cache_control: { type: 'ephemeral' },
        },
        { type: 'custom', name: 'g', input_schema: {}, new_member: { x: 1 } },
        {
          type: 'web_search_20260318',
          name: 'web_search',
          max_uses: 3,
          allowed_domains: ['a.example'],
          response_inclusion: 'full',
        },
        { type: 'mcp_toolset', mcp_server_name: 'x', configs: { any_name: { enabled: false } } },
      ],
      messages: [
        {
          role: 'assistant',
          content: [{ type: 'tool_use', id: 't', name: 'f', input: { file_id: 'file_1', container_id: 'c' } }],
        },
        { role: 'user', content: [{ type: 'tool_result', tool_use_id: 't', content: 'x' }] },
      ],
      mcp_servers: [{ type: 'url', name: 'x', url: 'https://mcp.example/sse', authorization_token: 't' }],
      thread: { type: 'create' },
      metadata: { user_id: 'user_1_account_2_session_3' },
    },
  ],
  [
    'responses',
    {
      tools: [
        { type: 'function', name: 'f', parameters: { properties: { skill_id: {} } }, strict: false },
        { type: 'custom', name: 'apply_patch', format: { type: 'grammar', syntax: 'lark', definition: 'x' } },
        { type: 'web_search', external_web_access: false, search_content_types: ['text'] },
        { type: 'tool_search', execution: 'client', parameters: { any: 1 } },
        { type: 'local_shell' },
        { type: 'code_interpreter', container: { type: 'auto' } },
        {
          type: 'mcp',
          server_label: 'x',
          server_url: 'https://mcp.example',
          require_approval: 'never',
          headers: { 'X-Account-Id': 'a' },
        },
      ],
      input: [
        {
          type: 'function_call',
          id: 'fc_12',
          call_id: 'c',
          name: 'file_2',
          namespace: 'skill_2',
          arguments: '{"container_id":"c"}',
        },
        { type: 'tool_search_call', id: 'x', call_id: 'c', execution: 'client', arguments: { container_id: 'c' } },
        { type: 'function_call_output', call_id: 'c', output: [{ type: 'input_text', text: 'x' }] },
        { type: 'mcp_approval_response', approval_request_id: 'a', approve: true },
        { type: 'file_search_call', id: 'fs_12', queries: [], results: [{ file_id: 'f', text: 'x' }] },
        {
          type: 'message',
          id: 'msg_12',
          role: 'assistant',
          content: [{ type: 'output_text', text: 'x', annotations: [{ type: 'file_citation', file_id: 'f' }] }],
        },
        {
          type: 'mcp_list_tools',
          id: 'm',
          server_label: 'x',
          tools: [{ name: 'f', input_schema: { container_id: 'c' } }],
        },
        { type: 'new_call', id: 'n_12', call_id: 'c', new_member: { text: 'x' } },
      ],
      client_metadata: { session_id: 'thread_12' },
    },
  ],
];

for (const [what, cases] of Object.entries({
  'references to state': REFERENCES,
  'unknown tools and tool members': UNLISTED,
  'content without references': CONTENT,
})) {
  describe(what, () => {
    for (const [protocol, body, ...expected] of cases) {
      it(`${protocol}: ${(typeof body === 'string' ? body : JSON.stringify(body)).slice(0, 160)}`, () => {
        assert.deepEqual(found(protocol, body), expected);
      });
    }
  });
}
