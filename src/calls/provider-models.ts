import { completePool } from '../lib/http-client.ts';
import { isRecord, parseJson } from '../lib/json/json.ts';
import { isPlainText } from '../lib/plain-text.ts';
import { connectionFailure } from '../providers/upstream/failure.ts';
import { responseKind, upstreamHeaders } from '../providers/upstream/headers.ts';
import type { Provider } from '../providers/upstream/provider.ts';
import { refusalFailure } from '../providers/upstream/refusal.ts';
import { scrub } from '../providers/upstream/secrets.ts';
import { wordsOf } from './failure-words.ts';

interface ProviderModelsDependencies {
  readonly provider: Provider;
  /** The credentials are secret and in the order of the configuration. */
  readonly credentials: readonly { readonly value: string }[];
  /** The provider's protocol may use these header names. */
  readonly mountedNames: readonly string[];
  readonly limitMs?: number;
}

interface ListedModel {
  /** The provider's name of the model. */
  readonly id: string;
  readonly displayName: string | null;
  /** In tokens, as far as the provider reports it. */
  readonly contextLength: number | null;
  readonly maxOutputTokens: number | null;
}

export interface ProviderModels {
  readonly models: readonly ListedModel[];
  /** Whether the provider has more models than the list. */
  readonly hasMore: boolean;
  /** Why there is no list, without secrets; `null` if there is one. */
  readonly message: string | null;
}

const LIMIT_MS = 20_000;
const BODY_BYTES_MAX = 8 * 1024 * 1024;
const MODELS_MAX = 5_000;
const NAME_CHARS_MAX = 200;

/** Both are described by the vendors' own SDKs. Without a limit, pages of the messages protocol have 20 models. */
const PATHS = { chat: '/models', messages: '/v1/models?limit=1000' } as const;

/** Asks a provider for its list of models, with each credential until one is accepted. States of credentials and routes do not change. */
export async function listProviderModels(dependencies: ProviderModelsDependencies): Promise<ProviderModels> {
  const { provider, credentials, limitMs = LIMIT_MS } = dependencies;
  const signal = AbortSignal.timeout(limitMs);
  let failure = '';
  for (const { value } of credentials) {
    const { status, body, message } = await ask(dependencies, value, signal);
    if (message === null) return readList(body);
    failure = message;
    if (status !== 401 && status !== 403) break;
  }
  return { models: [], hasMore: false, message: scrub(failure, provider.hidden.texts) };
}

interface Answer {
  readonly status: number | null;
  readonly body: string;
  readonly message: string | null;
}

async function ask(
  { provider, mountedNames, limitMs = LIMIT_MS }: ProviderModelsDependencies,
  credential: string,
  signal: AbortSignal,
): Promise<Answer> {
  const { 'content-type': _none, ...headers } = upstreamHeaders(provider, credential, {}, mountedNames, {
    isStream: false,
    contentType: '',
  });
  let status: number | null = null;
  const refused = (error: unknown): Answer => ({ status, body: '', message: wordsOf(error) });
  try {
    const pool = await completePool(provider.pool);
    const response = await pool.request({
      method: 'GET',
      path: withQuery(provider.basePath + PATHS[provider.protocol.name as keyof typeof PATHS], provider.query),
      headers,
      headersTimeout: limitMs,
      bodyTimeout: limitMs,
      signal,
    });
    status = response.statusCode;
    const chunks: Buffer[] = [];
    let sizeBytes = 0;
    for await (const chunk of response.body as AsyncIterable<Buffer>) {
      sizeBytes += chunk.length;
      if (sizeBytes > BODY_BYTES_MAX) throw new Error(`The list is larger than ${BODY_BYTES_MAX} bytes.`);
      chunks.push(chunk);
    }
    const bytes = Buffer.concat(chunks);
    const head = { status, headers: response.headers };
    if (responseKind(status, response.headers) !== 'whole') {
      return refused(refusalFailure(head, bytes, provider.hidden.texts, ''));
    }
    return { status, body: bytes.toString('utf8'), message: null };
  } catch (error) {
    if (signal.aborted) return refused(new Error(`There was no complete response within ${limitMs / 1_000} s.`));
    return refused(status === null ? connectionFailure(error as Error, false) : error);
  }
}

function withQuery(path: string, query: string): string {
  return path.includes('?') ? path + query.replace('?', '&') : path + query;
}

/** The lists of OpenAI, Anthropic and most vendors have `data`, others `models`. */
function readList(body: string): ProviderModels {
  const value = parseJson(body);
  const list = isRecord(value) ? (value.data ?? value.models) : value;
  if (!Array.isArray(list)) {
    return { models: [], hasMore: false, message: 'The response is not a list of models.' };
  }
  const models = new Map(list.filter(isRecord).flatMap((entry) => modelOf(entry).map((model) => [model.id, model])));
  const all = [...models.values()];
  const hasMore = all.length > MODELS_MAX || (isRecord(value) && value.has_more === true);
  return { models: all.slice(0, MODELS_MAX), hasMore, message: null };
}

function modelOf(entry: Record<string, unknown>): ListedModel[] {
  const id = nameIn(entry.id) ?? nameIn(entry.model) ?? nameIn(entry.name);
  if (id === null) return [];
  return [
    {
      // Google's list prefixes names with the kind of resource, which its address of calls does not expect.
      id: id.replace(/^models\//, ''),
      displayName: nameIn(entry.display_name) ?? (entry.id === undefined ? null : nameIn(entry.name)),
      contextLength: tokensIn(entry.context_length, entry.context_window, entry.max_model_len, entry.max_input_tokens),
      maxOutputTokens: tokensIn(entry.max_output_tokens, entry.max_completion_tokens, entry.max_tokens),
    },
  ];
}

function nameIn(value: unknown): string | null {
  return typeof value === 'string' && value !== '' && value.length <= NAME_CHARS_MAX && isPlainText(value)
    ? value
    : null;
}

function tokensIn(...values: readonly unknown[]): number | null {
  return values.find((value): value is number => Number.isSafeInteger(value) && Number(value) > 0) ?? null;
}
