import { isShownModel } from '../../calls/allowed-models.ts';
import type { ModelConfig } from '../../config/schema.ts';
import { messages } from '../../protocols/operations/messages.ts';
import { responses } from '../../protocols/operations/responses.ts';
import { modelAbsence, tokenLimit } from '../../providers/catalog/catalog.ts';
import { codexEntry } from './codex-models.ts';
import { ListFormat, listText } from './listed-entries.ts';
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
/** A model with its id. */
type ListedModel = readonly [string, ModelConfig];
const offersResponses = ([, model]: ListedModel): boolean => model.operations.includes(responses.name);

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

function messagesEntry(id: string, model: ModelConfig) {
  return {
    id,
    type: 'model',
    display_name: model.displayName ?? id,
    created_at: new Date(releasedAtMsOf(id, model)).toISOString(),
    max_input_tokens: tokenLimit(model.contextLength),
    max_tokens: tokenLimit(model.maxOutputTokens),
    capabilities: null,
  };
}

/** All configured models can be called, so they are active. Model lines cannot be configured. */
function messagesEntryWithLifecycle(id: string, model: ModelConfig) {
  return { ...messagesEntry(id, model), lifecycle: LIFECYCLE, deprecated_at: null, retires_at: null, line: null };
}

/** With entries for aliases, because some clients offer only names that are listed. */
const sharedFormat = new ListFormat((id, model) => {
  const entry = sharedEntry(id, model);
  return [[id, entry], ...model.aliases.map((alias) => [alias, { ...entry, id: alias, canonical_id: id }] as const)];
});
const messagesFormat = new ListFormat((id, model) => [[id, messagesEntry(id, model)]]);
const lifecycleFormat = new ListFormat((id, model) => [[id, messagesEntryWithLifecycle(id, model)]]);
const codexFormat = new ListFormat((id, model) => [[id, codexEntry(id, model)]]);

interface Client {
  readonly isOfMessages: boolean;
  /** Version that the client asks for; `null`: none, or not a date. */
  readonly version: string | null;
  /** Whether the client is Codex, which sends its own version and expects a format of its own. */
  readonly isCodex: boolean;
}

interface View {
  readonly serves: (model: ModelConfig) => boolean;
  /** Whether the address has the messages format for every client. */
  readonly isOfMessages: boolean;
  /** Members of the list in addition to those of a page. */
  readonly listFields: object;
  readonly responses: { readonly list: QueryDocument['response']; readonly model: QueryDocument['response'] };
}

const shared: View = {
  serves: servesAnything,
  isOfMessages: false,
  listFields: { object: 'list' },
  responses: { list: modelListResponse, model: modelResponse },
};
const onMessages: View = {
  serves: servesMessages,
  isOfMessages: true,
  listFields: {},
  responses: { list: messagesModelListResponse, model: messagesModelResponse },
};

function formatOf(view: View, { isOfMessages, version }: Client): ListFormat {
  if (!view.isOfMessages && !isOfMessages) return sharedFormat;
  return version === null || version < LIFECYCLE_VERSION ? messagesFormat : lifecycleFormat;
}

function list(view: View, visible: Visible): Query {
  return {
    name: 'models.list',
    document: { summary: 'List models', tag: 'Models', response: view.responses.list, query: modelListQuery },
    async response(request, sources) {
      const client = clientOf(request, sources);
      const models = await listedModels(view, visible, request, sources);
      const entriesIn =
        (format: ListFormat) =>
        ([id, model]: ListedModel) =>
          format.entriesOf(id, model);
      if (client.isCodex) {
        const entries = models.filter(offersResponses).flatMap(entriesIn(codexFormat));
        return { body: listText({}, 'models', entries) };
      }
      const entries = models.flatMap(entriesIn(formatOf(view, client)));
      const { data, ...page } = pageOf(wantsActive(request.search) ? entries : [], request.search);
      return { body: listText({ ...view.listFields, ...page }, 'data', data) };
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
      const [canonical] = formatOf(view, clientOf(request, sources)).entriesOf(...found);
      return { body: canonical!.text };
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
