import { chatBase, quoted } from '../../parts/calling/call-target.ts';
import { homeFile, keyInEnvironment } from './shells.ts';
import { type Client, type Wanted, written } from './wanted.ts';

const ON = '2026-11-26';
/** Stated for models of unknown context size. A low value makes clients compact prompts early, but never too late. */
const CONTEXT_TOKENS = 32_000;

/** Editors, desktop programs and servers. Their settings are not tested by running them. */
export const APPS: readonly Client[] = [
  app('Cherry Studio', 'docs.cherry-ai.com, github.com/CherryHQ/cherry-studio (packages/shared/api)', (wanted) => [
    {
      form: 'Settings → Model Provider → Add',
      fields: [
        ['Provider Type', 'OpenAI'],
        ['API Key', wanted.key],
        ['API Host', chatBase(wanted)],
        ['Model ID', wanted.model],
      ],
    },
  ]),
  app('Cline', 'docs.cline.bot/provider-config/openai-compatible', (wanted) => [
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
  ]),
  app(
    'Cursor',
    'github.com/cursor/cursor issue 1289, openrouter.ai/docs/cookbook/coding-agents/cursor-integration',
    (wanted) => [
      {
        form: 'Cursor Settings → Models → API Keys',
        fields: [
          ['OpenAI API Key', wanted.key],
          ['Override OpenAI Base URL', chatBase(wanted)],
          ['Add model', wanted.model],
        ],
      },
    ],
  ),
  app('Continue', 'docs.continue.dev (model providers: OpenAI; configuration)', (wanted) => [
    { file: homeFile('.continue/config.yaml', wanted.system), code: continueYaml(wanted) },
  ]),
  app('Zed', 'zed.dev/docs/ai/use-api-access', (wanted) => [
    // Derived from the provider's name.
    keyInEnvironment('FAREGATE_API_KEY', wanted),
    {
      file: wanted.system === 'unix' ? '~/.config/zed/settings.json' : '%APPDATA%\\Zed\\settings.json',
      code: zed(wanted),
    },
  ]),
  app('Open WebUI', 'github.com/open-webui/docs (starting-with-openai-compatible)', (wanted) => [
    {
      form: 'Admin Settings → Connections → OpenAI → Add Connection',
      fields: [
        ['API URL', chatBase(wanted)],
        ['API Key', wanted.key],
      ],
    },
  ]),
  app('LobeChat', 'github.com/lobehub/lobehub (docs/self-hosting/environment-variables/model-provider)', (wanted) => [
    {
      file: '.env',
      code: `OPENAI_API_KEY=${wanted.key}
OPENAI_PROXY_URL=${chatBase(wanted)}
OPENAI_MODEL_LIST=-all,+${wanted.model}`,
    },
  ]),
  app('Dify', 'github.com/langgenius/dify-official-plugins (models/openai_api_compatible)', (wanted) => [
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
  ]),
  app('n8n', 'github.com/n8n-io/n8n (OpenAiApi.credentials.ts, LmChatOpenAi.node.ts)', (wanted) => [
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
        // On by default, but not every model supports it.
        ['Use Responses API', 'off'],
      ],
    },
  ]),
];

function app(name: string, against: string, settings: Client['settings']): Client {
  return { name, operation: 'chat', isLasting: true, checked: { on: ON, against }, settings };
}

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
