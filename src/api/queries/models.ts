import { isShownModel } from '../../calls/allowed-models.ts';
import type { ModelConfig } from '../../config/schema.ts';
import { messages } from '../../protocols/operations/messages.ts';
import { responses } from '../../protocols/operations/responses.ts';
import { modelAbsence, tokenLimit } from '../../providers/catalog/catalog.ts';
import { codexEntry } from './codex-models.ts';
import { isMessagesClient, messagesVersion } from './messages-client.ts';
import { ownerOf, releasedAtMsOf } from './model-origin.ts';
import { pageOf, type QueryString } from './paging.ts';
import type { Query, QueryDocument, QueryRequest, QuerySources } from './query.ts';
import {
  messagesModelListResponse,
  messagesModelResponse,
  modelListQuery,
  modelListResponse,
  modelResponse,
} from './schemas.ts';

/**
 * This file has model lists and details as vendors document them. At a shared address, entries have the members of both families; a known
 * messages client gets the messages format. For an alias, the canonical id is returned (contract 2.6).
 */

/** First version of the messages protocol in which models have a lifecycle. */
const LIFECYCLE_VERSION = '2026-10-21';
const LIFECYCLE = 'active';
/** A version, which is a date. Other texts cannot be compared. */
const DATE = /^\d{4}-\d{2}-\d{2}$/;

const servesMessages = (model: ModelConfig): boolean => model.operations.includes(messages.name);
const servesAnything = (): boolean => true;
const offersResponses = ([, model]: readonly [string, ModelConfig]): boolean =>
  model.operations.includes(responses.name);

/** Returns the models that an account sees at an address; `null`: all listed ones. Allow-lists and groups can hide further models. */
type Visible = (accountId: string, sources: QuerySources) => Promise<ReadonlySet<string> | null>;

const everything: Visible = async () => null;

/** Models of the account's plan. Without a plan there are none (contract 4.8). */
const inPlan: Visible = async (accountId, sources) => {
  const { plan } = await sources.subscription(accountId);
  return plan?.models ?? new Set();
};

function sharedEntry(id: string, model: ModelConfig) {
  const releasedAtMs = releasedAtMsOf(id, model);
  return {
    id,
    object: 'model',
    created: releasedAtMs / 1_000,
    owned_by: ownerOf(id, model),
    type: 'model',
    display_name: model.displayName ?? id,
    created_at: new Date(releasedAtMs).toISOString(),
    context_length: tokenLimit(model.contextLength),
    max_output_tokens: tokenLimit(model.maxOutputTokens),
  };
}

/** Entries for aliases, because some clients offer only names that are listed. */
const aliasEntries = (entry: { readonly id: string }, { aliases }: ModelConfig) =>
  aliases.map((alias) => ({ ...entry, id: alias, canonical_id: entry.id }));

function messagesEntry(id: string, model: ModelConfig, version: string | null) {
  const sinceFirst = {
    id,
    type: 'model',
    display_name: model.displayName ?? id,
    created_at: new Date(releasedAtMsOf(id, model)).toISOString(),
    max_input_tokens: tokenLimit(model.contextLength),
    max_tokens: tokenLimit(model.maxOutputTokens),
    capabilities: null,
  };
  if (version === null || version < LIFECYCLE_VERSION) return sinceFirst;
  // All configured models can be called, so they are active. Model lines cannot be configured.
  return { ...sinceFirst, lifecycle: LIFECYCLE, deprecated_at: null, retires_at: null, line: null };
}

interface Client {
  readonly isOfMessages: boolean;
  /** Version that the client asks for; `null`: none, or not a date. */
  readonly version: string | null;
  /** Whether the client is Codex, which sends its own version and expects a format of its own. */
  readonly isCodex: boolean;
}

interface View {
  readonly serves: (model: ModelConfig) => boolean;
  readonly toEntry: (id: string, model: ModelConfig, client: Client) => { readonly id: string };
  readonly listsAliases: (client: Client) => boolean;
  /** Members of the list in addition to those of a page. */
  readonly listFields: object;
  readonly responses: { readonly list: QueryDocument['response']; readonly model: QueryDocument['response'] };
}

const shared: View = {
  serves: servesAnything,
  toEntry: (id, model, client) =>
    client.isOfMessages ? messagesEntry(id, model, client.version) : sharedEntry(id, model),
  listsAliases: ({ isOfMessages }) => !isOfMessages,
  listFields: { object: 'list' },
  responses: { list: modelListResponse, model: modelResponse },
};
const onMessages: View = {
  serves: servesMessages,
  toEntry: (id, model, { version }) => messagesEntry(id, model, version),
  listsAliases: () => false,
  listFields: {},
  responses: { list: messagesModelListResponse, model: messagesModelResponse },
};

function list(view: View, visible: Visible): Query {
  return {
    name: 'models.list',
    document: { summary: 'List models', tag: 'Models', response: view.responses.list, query: modelListQuery },
    async response(request, sources) {
      const client = clientOf(request, sources);
      const models = await listedModels(view, visible, request, sources);
      if (client.isCodex) return { body: { models: models.filter(offersResponses).map(codexEntry) } };
      const entries = models.flatMap(([id, model]) => {
        const entry = view.toEntry(id, model, client);
        return view.listsAliases(client) ? [entry, ...aliasEntries(entry, model)] : [entry];
      });
      const page = pageOf(wantsActive(request.search) ? entries : [], request.search);
      return { body: { ...view.listFields, ...page } };
    },
  };
}

function detail(view: View, visible: Visible): Query {
  return {
    name: 'models.read',
    document: { summary: 'Read a model', tag: 'Models', response: view.responses.model, query: null },
    async response(request, sources) {
      const { modelId } = request;
      const models = await listedModels(view, visible, request, sources);
      const found = models.find(([id, model]) => id === modelId || model.aliases.includes(modelId));
      if (found === undefined) throw modelAbsence(modelId);
      return { body: view.toEntry(...found, clientOf(request, sources)) };
    },
  };
}

function clientOf({ headers, search }: QueryRequest, sources: QuerySources): Client {
  const names = sources.config().server.protocolNames.messages;
  const version = messagesVersion(headers, names);
  const isOfMessages = isMessagesClient(headers, names);
  return {
    isOfMessages,
    version: version !== null && DATE.test(version) ? version : null,
    isCodex: search.client_version !== undefined && !isOfMessages,
  };
}

async function listedModels(view: View, visible: Visible, request: QueryRequest, sources: QuerySources) {
  const principal = request.principal!;
  const { accountId, groupId } = principal;
  const shown = await visible(accountId, sources);
  const { group } = sources.catalog().of(groupId);
  return Object.entries(sources.config().models).filter(
    ([id, model]) =>
      model.listed &&
      view.serves(model) &&
      (shown === null || shown.has(id)) &&
      isShownModel({ id, aliases: model.aliases }, principal, group),
  );
}

/** Whether a client wants active models. It can filter by stage of the lifecycle; all configured models are `active`. */
function wantsActive(search: QueryString): boolean {
  const wanted = search['lifecycle[]'] ?? search.lifecycle;
  return wanted === undefined || [wanted].flat().includes(LIFECYCLE);
}

export const modelList = list(shared, everything);
export const modelDetail = detail(shared, everything);
export const messagesModelList = list(onMessages, everything);
export const messagesModelDetail = detail(onMessages, everything);
export const codingModelList = list(shared, inPlan);
export const codingModelDetail = detail(shared, inPlan);
export const codingMessagesModelList = list(onMessages, inPlan);
export const codingMessagesModelDetail = detail(onMessages, inPlan);
