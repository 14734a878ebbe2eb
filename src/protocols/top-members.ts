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

/** Top-level members of all vendors that refer to state. Other members are allowed (contract, section 9). */
export const STATE_AT_TOP: Readonly<Record<string, Rule>> = {
  ...Object.fromEntries(Object.entries(STATE_NAMES).map(([name, kind]): [string, Rule] => [name, state(kind)])),
  conversation: stateOrObject('conversation'),
  thread: stateOrObject('thread', { previous_message_id: state('thread') }),
  container: stateOrObject('container', { skills: { items: { readBy: 'skill' }, readBy: 'skill' } }),
  // Refers to an earlier message, with whose prompt the provider compares this one. Its kind is `state`, so errors name the field.
  diagnostics: open({ previous_message_id: state('state') }),
  prompt_cache_options: open({ comparison_response_id: state('response') }),
  // Members of Volcengine Ark, Google (also within `google` at its OpenAI-compatible endpoint), and Alibaba Cloud.
  context_id: state('conversation'),
  cached_content: state('cache'),
  google: { members: new Members({ cached_content: state('cache') }, 'field') },
  memory_id: state('state'),
  assistant_id: state('state'),
  agent_id: state('state'),
  // Azure's member: searches data in the operator's account.
  data_sources: anything('network'),
  // Members of vLLM and SGLang: memory and addresses of other servers, adapters on the server's disk, and code.
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
  // Members of LoRAX and TGI.
  adapter_id: anything('adapter'),
  adapter_source: anything('adapter'),
  // Member of llama.cpp.
  lora: anything('adapter'),
  // A program that replaces the model's template. SGLang also passes `chat_template_kwargs` to it.
  chat_template: anything('adapter'),
  chat_template_kwargs: { members: new Members({ chat_template: anything('adapter') }, 'field') },
  vllm_xargs: 'more',
  // OpenRouter's member: a model, a system prompt and settings that are stored in the operator's account.
  preset: state('prompt'),
  // LiteLLM's members: the address to which the operator's credential is sent, and the choice of the credential.
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

const CONTENT_AT_TOP = [
  ...['model', 'user', 'metadata', 'client_metadata', 'litellm_metadata', 'safety_identifier', 'prompt_cache_key'],
  ...['service_tier', 'stream', 'stream_options', 'temperature', 'top_p'],
];

/** @param content documented members that do not refer to state */
export function topMembers(content: readonly string[], rules: Readonly<Record<string, Rule>>): Members {
  const known = [...CONTENT_AT_TOP, ...content].map((name): [string, Rule] => [name, 'content']);
  return new Members({ ...Object.fromEntries(known), ...STATE_AT_TOP, ...rules }, 'field');
}

export const MEDIA_PLACES = {
  url: { text: 'media' },
  // Members of Amazon Bedrock and Google.
  uri: LINK,
  s3Location: open({ uri: LINK }),
  fileUri: LINK,
  file_id: state('file'),
  data: 'content',
} as const satisfies Readonly<Record<string, Rule>>;

const MEDIA_MEMBERS = openMembers({ ...MEDIA_PLACES, file_data: 'content' });

/** Audio. Except for OpenAI, all vendors accept an address instead of the bytes. */
const SOUND: Form = open({ data: { text: 'media' }, url: { text: 'media' } });

/** An image, a video or audio: its address, its bytes, or an object with either. */
export const MEDIA: Form = {
  text: 'media',
  items: { text: 'media', members: MEDIA_MEMBERS },
  members: MEDIA_MEMBERS,
};

/** Members of content blocks of all vendors, because relays translate between protocols. */
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

/** Text for the model, or an object that refers to a stored prompt. */
export const STORED_PROMPT: Form = { text: 'setting', items: 'content', members: openMembers({ id: state('prompt') }) };
