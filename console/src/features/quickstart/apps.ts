import { homeFile, keyInEnvironment } from './shells.ts';
import { type Client, chatBase, quoted, type Wanted, written } from './wanted.ts';

const ON = '2026-11-26';
/** What is said of a model whose context is not known: a client that thinks it small shortens its prompts too early, and never too late. */
const CONTEXT_TOKENS = 32_000;

/** Editors, desktop programs and servers that call models; they are not run here. */
export const APPS: readonly Client[] = [
  {
    name: 'Cherry Studio',
    operation: 'chat',
    isLasting: true,
    checked: { on: ON, against: 'docs.cherry-ai.com, github.com/CherryHQ/cherry-studio (packages/shared/api)' },
    settings: (wanted) => [
      {
        form: 'Settings → Model Provider → Add',
        fields: [
          ['Provider Type', 'OpenAI'],
          ['API Key', wanted.key],
          ['API Host', chatBase(wanted)],
          ['Model ID', wanted.model],
        ],
      },
    ],
  },
  {
    name: 'Cline',
    operation: 'chat',
    isLasting: true,
    checked: { on: ON, against: 'docs.cline.bot/provider-config/openai-compatible' },
    settings: (wanted) => [
      {
        form: 'Settings',
        fields: [
          ['API Provider', 'OpenAI Compatible'],
          ['Base URL', chatBase(wanted)],
          ['API Key', wanted.key],
          ['Model ID', wanted.model],
          ...tokenFields(wanted, 'Context Window', 'Max Output Tokens'),
        ],
      },
    ],
  },
  {
    name: 'Cursor',
    operation: 'chat',
    isLasting: true,
    checked: {
      on: ON,
      against: 'github.com/cursor/cursor issue 1289, openrouter.ai/docs/cookbook/coding-agents/cursor-integration',
    },
    settings: (wanted) => [
      {
        form: 'Cursor Settings → Models → API Keys',
        fields: [
          ['OpenAI API Key', wanted.key],
          ['Override OpenAI Base URL', chatBase(wanted)],
          ['Add model', wanted.model],
        ],
      },
    ],
  },
  {
    name: 'Continue',
    operation: 'chat',
    isLasting: true,
    checked: { on: ON, against: 'docs.continue.dev (model providers: OpenAI; configuration)' },
    settings: (wanted) => [{ file: homeFile('.continue/config.yaml', wanted.system), code: continueYaml(wanted) }],
  },
  {
    name: 'Zed',
    operation: 'chat',
    isLasting: true,
    checked: { on: ON, against: 'zed.dev/docs/ai/use-api-access' },
    settings: (wanted) => [
      // Its name follows from that of the provider.
      keyInEnvironment('FAREGATE_API_KEY', wanted),
      {
        file: wanted.system === 'unix' ? '~/.config/zed/settings.json' : '%APPDATA%\\Zed\\settings.json',
        code: zed(wanted),
      },
    ],
  },
  {
    name: 'Open WebUI',
    operation: 'chat',
    isLasting: true,
    checked: { on: ON, against: 'github.com/open-webui/docs (starting-with-openai-compatible)' },
    settings: (wanted) => [
      {
        form: 'Admin Settings → Connections → OpenAI → Add Connection',
        fields: [
          ['API URL', chatBase(wanted)],
          ['API Key', wanted.key],
        ],
      },
    ],
  },
  {
    name: 'LobeChat',
    operation: 'chat',
    isLasting: true,
    checked: { on: ON, against: 'github.com/lobehub/lobehub (docs/self-hosting/environment-variables/model-provider)' },
    settings: (wanted) => [
      {
        file: '.env',
        code: `OPENAI_API_KEY=${wanted.key}
OPENAI_PROXY_URL=${chatBase(wanted)}
OPENAI_MODEL_LIST=-all,+${wanted.model}`,
      },
    ],
  },
  {
    name: 'Dify',
    operation: 'chat',
    isLasting: true,
    checked: { on: ON, against: 'github.com/langgenius/dify-official-plugins (models/openai_api_compatible)' },
    settings: (wanted) => [
      {
        form: 'Settings → Model Provider → OpenAI-API-compatible',
        fields: [
          ['Model Name', wanted.model],
          ['API Key', wanted.key],
          ['API Base URL', chatBase(wanted)],
          ['Completion mode', 'Chat'],
          ...tokenFields(wanted, 'Model context size', 'Upper bound for max tokens'),
          ['Function Call Type', 'Tool Call'],
        ],
      },
    ],
  },
  {
    name: 'n8n',
    operation: 'chat',
    isLasting: true,
    checked: { on: ON, against: 'github.com/n8n-io/n8n (OpenAiApi.credentials.ts, LmChatOpenAi.node.ts)' },
    settings: (wanted) => [
      {
        form: 'Credentials → OpenAI',
        fields: [
          ['API Key', wanted.key],
          ['Base URL', chatBase(wanted)],
        ],
      },
      {
        form: 'OpenAI Chat Model',
        fields: [
          ['Model → ID', wanted.model],
          // It is on unless somebody turns it off, and not every model offers it.
          ['Use Responses API', 'off'],
        ],
      },
    ],
  },
];

/** What is known of the sizes of the model. */
function tokenFields({ contextTokens, outputTokens }: Wanted, context: string, output: string): [string, string][] {
  const fields: [string, number | null][] = [
    [context, contextTokens],
    [output, outputTokens],
  ];
  return fields.flatMap(([label, tokens]) => (tokens === null ? [] : [[label, String(tokens)]]));
}

function continueYaml(wanted: Wanted): string {
  return `name: Faregate
version: 0.0.1
schema: v1
models:
  - name: ${quoted(wanted.model)}
    provider: openai
    model: ${quoted(wanted.model)}
    apiBase: ${quoted(chatBase(wanted))}
    apiKey: ${quoted(wanted.key)}`;
}

function zed(wanted: Wanted): string {
  const { model, contextTokens, outputTokens } = wanted;
  const output = outputTokens === null ? {} : { max_output_tokens: outputTokens };
  return written({
    language_models: {
      openai_compatible: {
        faregate: {
          api_url: chatBase(wanted),
          available_models: [
            { name: model, display_name: model, max_tokens: contextTokens ?? CONTEXT_TOKENS, ...output },
          ],
        },
      },
    },
  });
}
