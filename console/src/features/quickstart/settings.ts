/** What somebody wants to call with which client; `settingsOf` writes what to paste for it. */
export interface Wanted {
  /** The address of this gateway, such as `https://gate.example`. */
  readonly origin: string;
  readonly context: 'balance' | 'coding';
  readonly model: string;
  /** The key, or what stands for it. */
  readonly key: string;
  /** The first part of the messages addresses of the Coding Plan (`server.protocolNames`). */
  readonly messagesName: string;
  readonly contextTokens: number | null;
  readonly outputTokens: number | null;
}

export interface Setting {
  /** Where it belongs; `null`: it is run as it is. */
  readonly file: string | null;
  readonly code: string;
}

export type Operation = 'chat' | 'responses' | 'messages';

export interface Client {
  readonly name: string;
  /** What the model has to offer. */
  readonly operation: Operation;
  readonly settings: (wanted: Wanted) => readonly Setting[];
}

/** What a chat-style client takes as its base address. */
export function chatBase({ origin, context }: Pick<Wanted, 'origin' | 'context'>): string {
  return `${origin}/v1${context === 'coding' ? '/coding' : ''}`;
}

/** What a messages-style client takes as its base address; it adds `/v1/messages`. */
export function messagesBase({
  origin,
  context,
  messagesName,
}: Pick<Wanted, 'origin' | 'context' | 'messagesName'>): string {
  return context === 'coding' ? `${origin}/${messagesName}/coding` : origin;
}

const DEFAULT_OUTPUT_TOKENS = 512;

/** The clients that are known to work as they are; agents are tried by `npm run agents` (docs/agents.md). */
export const CLIENTS: readonly Client[] = [
  { name: 'curl', operation: 'chat', settings: (wanted) => [{ file: null, code: chatCurl(wanted) }] },
  {
    name: 'curl (messages)',
    operation: 'messages',
    settings: (wanted) => [{ file: null, code: messagesCurl(wanted) }],
  },
  {
    name: 'OpenAI SDK (JavaScript)',
    operation: 'chat',
    settings: (wanted) => [
      { file: null, code: 'npm install openai' },
      {
        file: 'chat.mjs',
        code: `import OpenAI from 'openai';

const client = new OpenAI({ baseURL: ${quoted(chatBase(wanted))}, apiKey: ${quoted(wanted.key)} });
const stream = await client.chat.completions.create({
  model: ${quoted(wanted.model)},
  messages: [{ role: 'user', content: 'Hello!' }],
  stream: true,
});
for await (const chunk of stream) process.stdout.write(chunk.choices[0]?.delta?.content ?? '');`,
      },
    ],
  },
  {
    name: 'OpenAI SDK (Python)',
    operation: 'chat',
    settings: (wanted) => [
      { file: null, code: 'pip install openai' },
      {
        file: 'chat.py',
        code: `from openai import OpenAI

client = OpenAI(base_url=${quoted(chatBase(wanted))}, api_key=${quoted(wanted.key)})
stream = client.chat.completions.create(
    model=${quoted(wanted.model)},
    messages=[{"role": "user", "content": "Hello!"}],
    stream=True,
)
for chunk in stream:
    if chunk.choices:
        print(chunk.choices[0].delta.content or "", end="", flush=True)`,
      },
    ],
  },
  {
    name: 'Anthropic SDK (JavaScript)',
    operation: 'messages',
    settings: (wanted) => [
      { file: null, code: 'npm install @anthropic-ai/sdk' },
      {
        file: 'messages.mjs',
        code: `import Anthropic from '@anthropic-ai/sdk';

const client = new Anthropic({ baseURL: ${quoted(messagesBase(wanted))}, apiKey: ${quoted(wanted.key)} });
const message = await client.messages.create({
  model: ${quoted(wanted.model)},
  max_tokens: ${DEFAULT_OUTPUT_TOKENS},
  messages: [{ role: 'user', content: 'Hello!' }],
});
for (const block of message.content) if (block.type === 'text') console.log(block.text);`,
      },
    ],
  },
  {
    name: 'Anthropic SDK (Python)',
    operation: 'messages',
    settings: (wanted) => [
      { file: null, code: 'pip install anthropic' },
      {
        file: 'messages.py',
        code: `from anthropic import Anthropic

client = Anthropic(base_url=${quoted(messagesBase(wanted))}, api_key=${quoted(wanted.key)})
message = client.messages.create(
    model=${quoted(wanted.model)},
    max_tokens=${DEFAULT_OUTPUT_TOKENS},
    messages=[{"role": "user", "content": "Hello!"}],
)
for block in message.content:
    if block.type == "text":
        print(block.text)`,
      },
    ],
  },
  {
    name: 'Claude Code',
    operation: 'messages',
    settings: (wanted) => [{ file: '~/.claude/settings.json', code: claudeCode(wanted) }],
  },
  {
    name: 'Codex',
    operation: 'responses',
    settings: (wanted) => [exported(wanted), { file: '~/.codex/config.toml', code: codex(wanted) }],
  },
  {
    name: 'opencode',
    operation: 'chat',
    settings: (wanted) => [exported(wanted), { file: '~/.config/opencode/opencode.json', code: opencode(wanted) }],
  },
  {
    name: 'Qwen Code',
    operation: 'chat',
    settings: (wanted) => [exported(wanted), { file: '~/.qwen/settings.json', code: qwenCode(wanted) }],
  },
];

function chatCurl(wanted: Wanted): string {
  const body = { model: wanted.model, stream: true, messages: [{ role: 'user', content: 'Hello!' }] };
  return `curl -N ${chatBase(wanted)}/chat/completions \\
  -H "Authorization: Bearer ${wanted.key}" -H "Content-Type: application/json" \\
  -d ${inShell(JSON.stringify(body))}`;
}

function messagesCurl(wanted: Wanted): string {
  const messages = [{ role: 'user', content: 'Hello!' }];
  const body = { model: wanted.model, max_tokens: DEFAULT_OUTPUT_TOKENS, stream: true, messages };
  return `curl -N ${messagesBase(wanted)}/v1/messages \\
  -H "x-api-key: ${wanted.key}" -H "Content-Type: application/json" \\
  -d ${inShell(JSON.stringify(body))}`;
}

function claudeCode(wanted: Wanted): string {
  return written({
    env: {
      ANTHROPIC_BASE_URL: messagesBase(wanted),
      ANTHROPIC_AUTH_TOKEN: wanted.key,
      ANTHROPIC_MODEL: wanted.model,
      ANTHROPIC_DEFAULT_HAIKU_MODEL: wanted.model,
      ...(wanted.contextTokens === null ? {} : { CLAUDE_CODE_MAX_CONTEXT_TOKENS: String(wanted.contextTokens) }),
    },
  });
}

function codex(wanted: Wanted): string {
  const window = wanted.contextTokens === null ? '' : `model_context_window = ${wanted.contextTokens}\n`;
  return `model = ${quoted(wanted.model)}
model_provider = "faregate"
${window}
[model_providers.faregate]
name = "Faregate"
base_url = ${quoted(chatBase(wanted))}
env_key = "FAREGATE_KEY"
wire_api = "responses"`;
}

function opencode(wanted: Wanted): string {
  const { model, contextTokens, outputTokens } = wanted;
  const limit =
    contextTokens !== null && outputTokens !== null ? { limit: { context: contextTokens, output: outputTokens } } : {};
  return written({
    $schema: 'https://opencode.ai/config.json',
    model: `faregate/${model}`,
    small_model: `faregate/${model}`,
    provider: {
      faregate: {
        npm: '@ai-sdk/openai-compatible',
        name: 'Faregate',
        options: { baseURL: chatBase(wanted), apiKey: '{env:FAREGATE_KEY}' },
        models: { [model]: { name: model, ...limit } },
      },
    },
  });
}

function qwenCode(wanted: Wanted): string {
  const { model } = wanted;
  return written({
    security: { auth: { selectedType: 'openai' } },
    modelProviders: { openai: [{ id: model, name: model, envKey: 'FAREGATE_KEY', baseUrl: chatBase(wanted) }] },
    model: { name: model },
  });
}

function exported({ key }: Wanted): Setting {
  return { file: null, code: `export FAREGATE_KEY=${key}` };
}

function written(settings: object): string {
  return JSON.stringify(settings, null, 2);
}

function quoted(text: string): string {
  return JSON.stringify(text);
}

function inShell(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
