import { listOf, Members, mapOf, only, open, openMembers, type Rule, SERVER, state } from './request-rules.ts';

interface ToolRule {
  /** Who runs the tool. A provider tool may have only the listed members, a client tool any. */
  readonly runs: 'client' | 'provider';
  readonly members: Members;
  readonly isPriced: boolean;
}

const client = (rules: Readonly<Record<string, Rule>> = {}): ToolRule => ({
  runs: 'client',
  members: openMembers({ ...CLIENT_CONTENT, ...rules }),
  isPriced: false,
});

const provider = (rules: Readonly<Record<string, Rule>> = {}): ToolRule => ({
  runs: 'provider',
  members: new Members({ ...COMMON, ...rules }, 'unknown'),
  isPriced: false,
});

const priced = (rules: Readonly<Record<string, Rule>> = {}): ToolRule => ({ ...provider(rules), isPriced: true });

/** Members that both vendors document for every tool. */
export const COMMON: Readonly<Record<string, Rule>> = {
  type: 'setting',
  name: 'setting',
  description: 'content',
  strict: 'setting',
  defer_loading: 'setting',
  allowed_callers: 'setting',
  cache_control: 'content',
};

/** Members of client tools with schemas or text. Names in them can be anything. */
const CLIENT_CONTENT: Readonly<Record<string, Rule>> = {
  ...COMMON,
  function: 'content',
  custom: 'content',
  parameters: 'content',
  input_schema: 'content',
  output_schema: 'content',
  format: 'content',
  input_examples: 'content',
  configs: 'content',
  tools: 'tools',
};

/** Members that show that a tool without a type is a client tool. */
export const CLIENT_MARKS = ['function', 'custom', 'name', 'input_schema', 'parameters'] as const;

const LOCATION = only({
  type: 'setting',
  city: 'setting',
  country: 'setting',
  region: 'setting',
  timezone: 'setting',
  approximate: only({ city: 'setting', country: 'setting', region: 'setting', timezone: 'setting' }),
});

const NETWORK_POLICY = only({
  type: 'setting',
  allowed_domains: 'setting',
  domain_secrets: listOf(only({ domain: 'setting', name: 'setting', value: 'setting' })),
});

/** A skill: an id, its content, or a path on the client's machine. */
const SKILLS = listOf(
  only({
    type: 'setting',
    skill_id: state('skill'),
    version: 'setting',
    name: 'setting',
    description: 'content',
    path: 'setting',
    source: only({ type: 'setting', media_type: 'setting', data: 'content' }),
  }),
);

export const ENVIRONMENT = {
  type: 'setting',
  container_id: state('container'),
  file_ids: state('file'),
  memory_limit: 'setting',
  network_policy: NETWORK_POLICY,
  skills: SKILLS,
} as const;

const APPROVAL_FILTER = only({ read_only: 'setting', tool_names: 'setting' });

/** A comparison, or a group of filters, which can contain groups. */
const FILTERS = open({
  type: 'setting',
  key: 'setting',
  value: 'setting',
  filters: 'content',
  allowed_domains: 'setting',
});

/** Connectors that the vendor predefines. They act with the `authorization` in the request. */
const CONNECTORS = [
  'connector_dropbox',
  'connector_gmail',
  'connector_googlecalendar',
  'connector_googledrive',
  'connector_microsoftteams',
  'connector_outlookcalendar',
  'connector_outlookemail',
  'connector_sharepoint',
];

const URL_SOURCE = only({ type: 'setting', tools: listOf(only({ type: 'setting', name: 'setting' })) });

/**
 * Tools that requests may offer, by family: `web_search` includes `web_search_20250305`. All protocols use this table, because relays
 * translate between protocols. Other tools are refused, unless the configuration of the provider allows them (`providers.NAME.allows`).
 * `test/requests/sdk-types.test.ts` compares the table with the vendors' SDKs.
 */
export const TOOLS: Readonly<Record<string, ToolRule>> = {
  function: client(),
  custom: client(),
  local_shell: client(),
  apply_patch: client(),
  bash: client(),
  text_editor: client(),
  memory: client(),
  computer: client(),
  computer_use: client(),
  computer_toolset: client(),
  browser_toolset: client(),
  namespace: client(),
  programmatic_tool_calling: provider(),
  tool_search: provider({ execution: 'setting', parameters: 'content' }),
  tool_search_tool_bm25: provider(),
  tool_search_tool_regex: provider(),
  shell: priced({ environment: { members: new Members(ENVIRONMENT, 'unknown') } }),
  code_interpreter: priced({
    container: { text: { state: 'container' }, members: new Members(ENVIRONMENT, 'unknown') },
  }),
  code_execution: priced(),
  file_search: priced({
    vector_store_ids: state('vector_store'),
    filters: FILTERS,
    max_num_results: 'setting',
    ranking_options: only({
      hybrid_search: only({ embedding_weight: 'setting', text_weight: 'setting' }),
      ranker: 'setting',
      score_threshold: 'setting',
    }),
  }),
  web_search: priced({
    external_web_access: 'setting',
    filters: only({ allowed_domains: 'setting', blocked_domains: 'setting' }),
    search_context_size: 'setting',
    search_content_types: 'setting',
    user_location: LOCATION,
    allowed_domains: 'setting',
    blocked_domains: 'setting',
    max_uses: 'setting',
    response_inclusion: 'setting',
  }),
  web_fetch: priced({
    allowed_domains: 'setting',
    blocked_domains: 'setting',
    citations: only({ enabled: 'setting' }),
    max_content_tokens: 'setting',
    max_uses: 'setting',
    response_inclusion: 'setting',
    use_cache: 'setting',
    url_sources: only({ client_tool_results: URL_SOURCE, server_tool_results: URL_SOURCE, user_input: URL_SOURCE }),
  }),
  advisor: priced({
    model: 'model',
    caching: only({ type: 'setting', ttl: 'setting' }),
    max_tokens: 'setting',
    max_uses: 'setting',
  }),
  image_generation: priced({
    action: 'setting',
    background: 'setting',
    complexity: 'setting',
    frame_count: 'setting',
    frame_duration_ms: 'setting',
    input_fidelity: 'setting',
    input_image_mask: only({ file_id: state('file'), image_url: { text: 'link' } }),
    model: 'model',
    moderation: 'setting',
    output_compression: 'setting',
    output_format: 'setting',
    partial_images: 'setting',
    quality: 'setting',
    size: 'setting',
    svg: only({ model: 'model', reasoning: only({ effort: 'setting' }) }),
  }),
  mcp: priced({
    tools: 'tools',
    server_label: 'setting',
    server_description: 'content',
    server_url: SERVER,
    connector_id: state('connector', CONNECTORS),
    tunnel_id: state('tunnel'),
    authorization: 'setting',
    headers: mapOf('setting'),
    allowed_tools: {
      text: 'setting',
      items: 'setting',
      members: new Members({ read_only: 'setting', tool_names: 'setting' }, 'unknown'),
    },
    require_approval: {
      text: 'setting',
      members: new Members({ always: APPROVAL_FILTER, never: APPROVAL_FILTER }, 'unknown'),
    },
  }),
  mcp_toolset: priced({
    mcp_server_name: 'setting',
    configs: mapOf(only({ enabled: 'setting', defer_loading: 'setting' })),
    default_config: only({ enabled: 'setting', defer_loading: 'setting' }),
    tools: 'tools',
  }),
};

export const MCP_SERVERS: Rule = {
  ...listOf(
    only({
      type: 'setting',
      name: 'setting',
      url: SERVER,
      authorization_token: 'setting',
      tool_configuration: only({ enabled: 'setting', allowed_tools: 'setting' }),
    }),
  ),
  allowedAs: 'mcp_servers',
};

/** Returns the type without date and `_preview`: `web_search_20250305` and `web_search_preview_2025_03_11` become `web_search`. */
export function toolFamily(type: string): string {
  if (Object.hasOwn(TOOLS, type)) return type;
  const undated = type.replace(DATE, '');
  return undated.endsWith(PREVIEW) ? undated.slice(0, -PREVIEW.length) : undated;
}

export function toolRule(type: string): ToolRule | null {
  const family = toolFamily(type);
  return Object.hasOwn(TOOLS, family) ? TOOLS[family]! : null;
}

const DATE = /_(?:\d{8}|\d{4}_\d{2}_\d{2})$/;
const PREVIEW = '_preview';
