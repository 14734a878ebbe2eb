import { type ProtocolName, protocolOf } from '../protocols/all.ts';
import type { OperationName } from '../protocols/operations/all.ts';
import type { DialectConfig } from './dialect-schema.ts';
import { dialectOfPreset } from './vendor-dialects.ts';

/** A provider in a preset, which `faregate init --provider` writes to a configuration file. */

export interface PresetProvider {
  readonly name: string;
  readonly protocol: ProtocolName;
  readonly baseUrl: string;
  /** Prefix of the vendor's version and beta headers. */
  readonly vendor?: string;
  readonly auth?: 'bearer' | 'x-api-key' | 'api-key';
  /** Set for self-hosted servers, some versions of which report no usage. */
  readonly missingUsage?: 'estimate';
  readonly allows?: readonly string[];
  /** How translated requests are written for the vendor. Without `translate` at a route, nothing reads it. */
  readonly dialect?: DialectConfig;
}

export interface Preset {
  /** Name of the preset in the command. */
  readonly name: string;
  readonly title: string;
  /** Providers of the preset, one per protocol. */
  readonly providers: readonly PresetProvider[];
  /** Operations that these addresses do not serve, although price files list models for them. */
  readonly lacks?: readonly OperationName[];
  /** Environment variable with the credential. */
  readonly keyVariable: string;
  /** Names of the vendor in LiteLLM's price file. If it lists a model under several, the price of the first one applies. */
  readonly priceFileNames: readonly string[];
  /** Address for accounts of the vendor's other region. `priceFileNames` is set if that region has other names. */
  readonly otherRegion?: { readonly baseUrl: string; readonly priceFileNames?: readonly string[] };
  /** End of the host names of its addresses, if each account or region has one of its own. */
  readonly hostEnd?: string;
  /** Notes for the operator; each one is a sentence. */
  readonly notes?: readonly string[];
  /** Where the vendor documents the addresses. */
  readonly source: string;
  readonly readOn: string;
}

const READ_ON = '2026-11-27';
/** Note about the credential, which the configuration requires for every provider. */
const OWN_SERVER = 'A server without authentication accepts any text as its key.';

/** What must be known of a vendor, because it does not follow from the name. */
interface Vendor
  extends Omit<Preset, 'providers' | 'keyVariable' | 'priceFileNames' | 'readOn'>,
    Partial<Pick<Preset, 'keyVariable' | 'priceFileNames'>>,
    Partial<Pick<Preset, 'readOn'>>,
    Pick<PresetProvider, 'missingUsage' | 'allows'> {
  /** Base URL for the chat protocol. Each protocol has one of its own. */
  readonly chat?: string;
  readonly messages?: string;
  readonly chatAuth?: PresetProvider['auth'];
  readonly messagesAuth?: PresetProvider['auth'];
}

const VENDORS: readonly Vendor[] = [
  {
    name: 'openai',
    title: 'OpenAI',
    chat: 'https://api.openai.com/v1',
    source: 'the npm package openai 7.55.0',
  },
  {
    name: 'anthropic',
    title: 'Anthropic',
    messages: 'https://api.anthropic.com',
    source: 'the npm package @anthropic-ai/sdk 1.11.0',
  },
  {
    name: 'google',
    title: 'Google Gemini, the compatible address',
    chat: 'https://generativelanguage.googleapis.com/v1beta/openai',
    lacks: ['images.edit'],
    keyVariable: 'GEMINI_API_KEY',
    priceFileNames: ['gemini'],
    source: 'https://ai.google.dev/gemini-api/docs/openai',
  },
  {
    name: 'deepseek',
    title: 'DeepSeek',
    chat: 'https://api.deepseek.com',
    messages: 'https://api.deepseek.com/anthropic',
    source: 'https://api-docs.deepseek.com/guides/anthropic_api',
  },
  {
    name: 'moonshot',
    title: 'Moonshot AI (Kimi)',
    chat: 'https://api.moonshot.cn/v1',
    allows: ['tools.builtin_function'],
    messages: 'https://api.moonshot.cn/anthropic',
    messagesAuth: 'bearer',
    otherRegion: { baseUrl: 'https://api.moonshot.ai' },
    source:
      'https://docs.rs/rig-core/0.43.0/src/rig_core/providers/moonshot.rs.html, and https://gist.github.com/mbijon/eb01efe3368e9c5e6b5230b6a920d506 for the header of the key at the messages address',
  },
  {
    name: 'zhipu',
    title: 'Zhipu (BigModel)',
    chat: 'https://open.bigmodel.cn/api/paas/v4',
    allows: ['tools.web_search.web_search', 'tools.retrieval', 'tools.web_browser', 'tools.drawing_tool'],
    messages: 'https://open.bigmodel.cn/api/anthropic',
    priceFileNames: ['bigmodel', 'zai'],
    otherRegion: { baseUrl: 'https://api.z.ai/api/paas/v4', priceFileNames: ['zai'] },
    source:
      'https://pypi.org/project/zhipuai, and https://raw.githubusercontent.com/Agents365-ai/dsclaude/main/glmclaude for messages',
  },
  {
    name: 'dashscope',
    title: 'Alibaba Cloud DashScope',
    chat: 'https://dashscope.aliyuncs.com/compatible-mode/v1',
    allows: ['tools.web_extractor'],
    messages: 'https://dashscope.aliyuncs.com/apps/anthropic',
    // Images and rerank have other addresses at this vendor.
    lacks: ['images.generate', 'images.edit', 'rerank'],
    otherRegion: { baseUrl: 'https://dashscope-intl.aliyuncs.com/compatible-mode/v1' },
    source: 'https://help.aliyun.com/zh/model-studio/compatibility-of-openai-with-dashscope',
  },
  {
    name: 'volcengine-ark',
    title: 'Volcengine Ark',
    chat: 'https://ark.cn-beijing.volces.com/api/v3',
    allows: [
      'tools.web_search.limit',
      'tools.web_search.sources',
      'tools.web_search.max_keyword',
      'tools.image_process',
    ],
    keyVariable: 'ARK_API_KEY',
    priceFileNames: ['volcengine'],
    source: 'https://www.volcengine.com/docs/82379/1298459',
  },
  {
    name: 'minimax',
    title: 'MiniMax',
    chat: 'https://api.minimax.io/v1',
    messages: 'https://api.minimax.io/anthropic',
    messagesAuth: 'bearer',
    otherRegion: { baseUrl: 'https://api.minimaxi.com/v1' },
    source:
      'https://platform.minimax.io/docs/api-reference/text-anthropic-api, and https://github.com/anomalyco/models.dev/issues/1398 for the header of the key at the messages address',
  },
  {
    name: 'siliconflow',
    title: 'SiliconFlow',
    chat: 'https://api.siliconflow.cn/v1',
    otherRegion: { baseUrl: 'https://api.siliconflow.com/v1' },
    source: 'https://docs.siliconflow.cn/docs/userguide/quickstart',
  },
  {
    name: 'xai',
    title: 'xAI',
    chat: 'https://api.x.ai/v1',
    allows: [
      'tools.x_search',
      'tools.live_search',
      'tools.web_search.enable_image_understanding',
      'tools.web_search.filters.excluded_domains',
      'tools.mcp.allowed_tool_names',
      'tools.mcp.extra_headers',
    ],
    source: 'https://docs.x.ai/developers/rest-api-reference/inference',
  },
  {
    name: 'mistral',
    title: 'Mistral',
    chat: 'https://api.mistral.ai/v1',
    source: 'the npm package @ai-sdk/mistral 2.0.0',
  },
  {
    name: 'groq',
    title: 'Groq',
    chat: 'https://api.groq.com/openai/v1',
    allows: ['tools.browser_search'],
    notes: ['The vendor rejects logprobs, logit_bias, top_logprobs, message names, and n other than 1.'],
    source: 'https://console.groq.com/docs/openai',
  },
  {
    name: 'azure',
    title: 'Azure OpenAI, the v1 address',
    chat: 'https://YOUR-RESOURCE.openai.azure.com/openai/v1',
    chatAuth: 'api-key',
    hostEnd: '.openai.azure.com',
    keyVariable: 'AZURE_OPENAI_API_KEY',
    lacks: ['rerank'],
    notes: [
      'Replace YOUR-RESOURCE with the name of the resource.',
      'The model of a route is the name of the deployment.',
      'For preview features, add ?api-version=preview to the address.',
      'With a token of Microsoft Entra ID, set auth: bearer, and apiKey: { command: NAME } (docs/providers.md).',
    ],
    source: 'https://learn.microsoft.com/azure/ai-foundry/openai/api-version-lifecycle',
    readOn: '2026-11-30',
  },
  {
    name: 'bedrock',
    title: 'Amazon Bedrock, the compatible address',
    chat: 'https://bedrock-mantle.us-east-1.api.aws/v1',
    hostEnd: '.api.aws',
    lacks: ['completions', 'embeddings', 'rerank', 'images.generate', 'images.edit'],
    notes: [
      'Replace us-east-1 with your region.',
      'The older address https://bedrock-runtime.us-east-1.amazonaws.com/openai/v1 serves chat only.',
      'Short-term API keys last 12 hours at most: set apiKey: { command: NAME } (docs/providers.md).',
    ],
    source:
      'https://docs.aws.amazon.com/bedrock/latest/userguide/inference-chat-completions-mantle.html, and https://docs.aws.amazon.com/bedrock/latest/userguide/api-keys.html for the keys',
    readOn: '2026-11-30',
  },
  {
    name: 'vertex',
    title: 'Google Vertex AI, the compatible address',
    chat: 'https://us-central1-aiplatform.googleapis.com/v1/projects/YOUR-PROJECT/locations/us-central1/endpoints/openapi',
    hostEnd: '-aiplatform.googleapis.com',
    keyVariable: 'VERTEX_ACCESS_TOKEN',
    priceFileNames: ['vertex_ai'],
    lacks: ['completions', 'responses', 'compact', 'embeddings', 'rerank', 'images.generate', 'images.edit'],
    notes: [
      'Replace YOUR-PROJECT, and us-central1 with your location.',
      'Models have the prefix of their publisher, such as google/gemini-2.5-pro.',
      'Access tokens last an hour: set apiKey: { command: NAME } (docs/providers.md).',
    ],
    source: 'https://cloud.google.com/vertex-ai/generative-ai/docs/migrate/openai/auth-and-credentials',
    readOn: '2026-11-30',
  },
  {
    name: 'openrouter',
    title: 'OpenRouter',
    chat: 'https://openrouter.ai/api/v1',
    allows: ['tools.openrouter:*'],
    source: 'https://openrouter.ai/docs/use-cases/usage-accounting',
  },
  {
    name: 'vllm',
    title: 'vLLM',
    chat: 'http://127.0.0.1:8000/v1',
    messages: 'http://127.0.0.1:8000',
    messagesAuth: 'bearer',
    missingUsage: 'estimate',
    priceFileNames: [],
    notes: [OWN_SERVER],
    source:
      'https://docs.vllm.ai/en/latest/serving/openai_compatible_server.html, and https://github.com/vllm-project/vllm/issues/51572 for the header of the key at the messages address',
  },
  {
    name: 'ollama',
    title: 'Ollama',
    chat: 'http://127.0.0.1:11434/v1',
    messages: 'http://127.0.0.1:11434',
    missingUsage: 'estimate',
    notes: [OWN_SERVER, 'Messages require version 0.14.0 or later.'],
    source: 'https://docs.ollama.com/api/openai-compatibility and https://ollama.com/blog/claude',
  },
  {
    name: 'sglang',
    title: 'SGLang',
    chat: 'http://127.0.0.1:30000/v1',
    missingUsage: 'estimate',
    priceFileNames: [],
    notes: [OWN_SERVER],
    source: 'https://mintlify.com/sgl-project/sglang/quickstart',
  },
];

export const presets: readonly Preset[] = VENDORS.map(presetOf);

function presetOf({ chat, chatAuth, messages, messagesAuth: auth, missingUsage, allows, ...vendor }: Vendor): Preset {
  const { name } = vendor;
  const usage = missingUsage && { missingUsage };
  const providers: PresetProvider[] = [];
  const dialectOf = (protocol: ProtocolName): Pick<PresetProvider, 'dialect'> => {
    const dialect = dialectOfPreset(name, protocol);
    return dialect === null ? {} : { dialect };
  };
  if (chat !== undefined) {
    const about = { ...(chatAuth && { auth: chatAuth }), ...usage, ...(allows && { allows }), ...dialectOf('chat') };
    providers.push({ name, protocol: 'chat', baseUrl: chat, ...about });
  }
  if (messages !== undefined) {
    // For addresses that expect Anthropic's version and beta headers.
    const likeAnthropic = {
      protocol: 'messages',
      baseUrl: messages,
      vendor: 'anthropic',
      ...(auth && { auth }),
    } as const;
    const own = chat === undefined ? name : `${name}-messages`;
    providers.push({ name: own, ...likeAnthropic, ...usage, ...dialectOf('messages') });
  }
  const defaults = { keyVariable: `${name.toUpperCase()}_API_KEY`, priceFileNames: [name], readOn: READ_ON };
  return { ...defaults, ...vendor, providers };
}

export function notesOf({ otherRegion, notes = [] }: Preset): readonly string[] {
  const others = otherRegion && `Accounts of the other region have the address ${otherRegion.baseUrl}.`;
  return others === undefined ? notes : [others, ...notes];
}

export const findPreset = (name: string): Preset | null => presets.find((preset) => preset.name === name) ?? null;

/** Returns the preset of a base URL; `null` if the vendor is unknown. */
export function presetAt(baseUrl: string): { preset: Preset; priceFileNames: readonly string[] } | null {
  const { host } = new URL(baseUrl);
  for (const preset of presets) {
    const { providers, otherRegion, priceFileNames, hostEnd } = preset;
    if (hostEnd !== undefined && host.endsWith(hostEnd)) return { preset, priceFileNames };
    if (providers.some((each) => new URL(each.baseUrl).host === host)) return { preset, priceFileNames };
    if (otherRegion !== undefined && new URL(otherRegion.baseUrl).host === host)
      return { preset, priceFileNames: otherRegion.priceFileNames ?? priceFileNames };
  }
  return null;
}

/** Returns the header for the credential, without the credential itself. */
export function credentialHeader({ protocol, auth = protocolOf(protocol).providerAuth }: PresetProvider): string {
  return auth === 'bearer' ? 'authorization: Bearer' : auth;
}
