import {
  anything,
  type Form,
  LINK,
  listOf,
  Members,
  open,
  openMembers,
  type Rule,
  state,
  stateOrObject,
} from './request-rules.ts';
import { STATE_NAMES } from './shown-references.ts';
import { MCP_SERVERS } from './tools.ts';

/**
 * The members at the top of a request that name state, wherever a vendor has them: relays translate between protocols,
 * and pass on what they do not know. Members of other names are open (contract, section 9).
 */
export const STATE_AT_TOP: Readonly<Record<string, Rule>> = {
  ...Object.fromEntries(Object.entries(STATE_NAMES).map(([name, kind]): [string, Rule] => [name, state(kind)])),
  conversation: stateOrObject('conversation'),
  thread: stateOrObject('thread', { previous_message_id: state('thread') }),
  container: stateOrObject('container', { skills: { items: { readBy: 'skill' }, readBy: 'skill' } }),
  // Not a thread: a message of the provider's account, whose prompt it would compare. The refusal names the field.
  diagnostics: open({ previous_message_id: state('state') }),
  prompt_cache_options: open({ comparison_response_id: state('response') }),
  // Volcengine Ark; Google, also in `google` of its compatible address; Alibaba Cloud.
  context_id: state('conversation'),
  cached_content: state('cache'),
  google: { members: new Members({ cached_content: state('cache') }, 'field') },
  memory_id: state('state'),
  assistant_id: state('state'),
  agent_id: state('state'),
  // Azure: searches data of the operator's account.
  data_sources: anything('network'),
  // vLLM and SGLang: memory and addresses of other servers, adapters on their disks, code.
  kv_transfer_params: anything('cache'),
  session_params: anything('cache'),
  bootstrap_host: anything('network'),
  bootstrap_port: anything('network'),
  bootstrap_room: anything('network'),
  bootstrap_pair_key: anything('network'),
  lora_path: anything('adapter'),
  lora_id: anything('adapter'),
  lora_request: anything('adapter'),
  custom_logit_processor: anything('adapter'),
  logits_processors: anything('adapter'),
  // LoRAX and TGI.
  adapter_id: anything('adapter'),
  adapter_source: anything('adapter'),
  // llama.cpp.
  lora: anything('adapter'),
  // A program that the server runs in place of the model's own, also where SGLang hands the settings of that on.
  chat_template: anything('adapter'),
  chat_template_kwargs: { members: new Members({ chat_template: anything('adapter') }, 'field') },
  vllm_xargs: 'more',
  // OpenRouter: a model, a system prompt and settings that the operator's account has.
  preset: state('prompt'),
  // LiteLLM: where the operator's credential goes, and which one.
  ...Object.fromEntries(
    [
      ...['api_base', 'base_url', 'user_config', 'aws_bedrock_runtime_endpoint', 'aws_sts_endpoint', 'aws_role_name'],
      ...['aws_profile_name', 'aws_web_identity_token', 'azure_ad_token', 'vertex_credentials'],
    ].map((name): [string, Rule] => [name, anything('network')]),
  ),
  tool_choice: { text: 'setting', ...open({ tools: 'tools', allowed_tools: open({ tools: 'tools' }) }) },
  tools: 'tools',
  mcp_servers: MCP_SERVERS,
  plugins: listOf(open({})),
  extra_body: 'more',
};

/** What the caller or a model reads, and settings, under names that all protocols have. */
const CONTENT_AT_TOP = [
  ...['model', 'user', 'metadata', 'client_metadata', 'litellm_metadata', 'safety_identifier', 'prompt_cache_key'],
  ...['service_tier', 'stream', 'stream_options', 'temperature', 'top_p'],
];

/**
 * The members at the top of a request of a protocol.
 *
 * @param content Those that its documentation has, and that name nothing.
 * @param rules Those that it reads in its own way.
 */
export function topMembers(content: readonly string[], rules: Readonly<Record<string, Rule>>): Members {
  const known = [...CONTENT_AT_TOP, ...content].map((name): [string, Rule] => [name, 'content']);
  return new Members({ ...Object.fromEntries(known), ...STATE_AT_TOP, ...rules }, 'field');
}

/** Where an object of a picture, a video or a sound says what it is. */
export const MEDIA_PLACES = {
  url: { text: 'media' },
  // Amazon Bedrock; Google.
  uri: LINK,
  s3Location: open({ uri: LINK }),
  fileUri: LINK,
  file_id: state('file'),
  data: 'content',
} as const satisfies Readonly<Record<string, Rule>>;

const MEDIA_MEMBERS = openMembers({ ...MEDIA_PLACES, file_data: 'content' });

/** A sound in a content block: vendors other than OpenAI take its address in place of the bytes. */
const SOUND: Form = open({ data: { text: 'media' }, url: { text: 'media' } });

/** An address of a picture, a video or a sound, the bytes of it, or an object that has either. */
export const MEDIA: Form = {
  text: 'media',
  items: { text: 'media', members: MEDIA_MEMBERS },
  members: MEDIA_MEMBERS,
};

/** What blocks of content consist of, under the names of all vendors: relays translate blocks as they do requests. */
export const BLOCK_MEMBERS: Readonly<Record<string, Rule>> = {
  text: { text: 'prose' },
  file_id: state('file'),
  file: MEDIA,
  file_url: MEDIA,
  image_url: MEDIA,
  image: MEDIA,
  images: MEDIA,
  video_url: MEDIA,
  video: MEDIA,
  audio_url: MEDIA,
  input_audio: SOUND,
  pdf: MEDIA,
  tools: 'tools',
};

/** Where a text is what the model reads: an object in its place names a stored prompt, as in requests for responses. */
export const STORED_PROMPT: Form = { text: 'setting', items: 'content', members: openMembers({ id: state('prompt') }) };
