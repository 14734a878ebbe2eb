import type { ModelConfig } from '../../config/schema.ts';
import { messages } from '../../protocols/operations/messages.ts';
import { modelAbsence, tokenLimit } from '../../providers/catalog/catalog.ts';
import type { Query, QuerySources } from './query.ts';

/**
 * Model lists and details. Their shapes follow the vendors' documentation: an entry of the shared list has the members of
 * both protocol families, so that clients of both read it. For an alias the canonical id is returned (contract 2.6).
 */

/** The release dates of models are not configured; vendors too return the epoch where a date is unknown. */
const CREATED_AT_SECONDS = 0;
const CREATED_AT = new Date(CREATED_AT_SECONDS * 1_000).toISOString();

const servesMessages = (model: ModelConfig): boolean => model.operations.includes(messages.name);
const servesAnything = (): boolean => true;

/** The models that an address shows to an account; `null`: all listed models. */
type Visible = (accountId: string, sources: QuerySources) => Promise<ReadonlySet<string> | null>;

const everything: Visible = async () => null;

/** The models of the account's active plan (contract 4.8); none without a plan. */
const inPlan: Visible = async (accountId, sources) => {
  const { plan } = await sources.subscription(accountId);
  return plan?.models ?? new Set();
};

function sharedEntry(id: string, model: ModelConfig) {
  return {
    id,
    object: 'model',
    created: CREATED_AT_SECONDS,
    owned_by: model.manufacturer,
    type: 'model',
    display_name: model.displayName ?? id,
    created_at: CREATED_AT,
  };
}

function messagesEntry(id: string, model: ModelConfig) {
  return {
    id,
    type: 'model',
    display_name: model.displayName ?? id,
    created_at: CREATED_AT,
    max_input_tokens: tokenLimit(model.contextLength),
    max_tokens: tokenLimit(model.maxOutputTokens),
    capabilities: null,
  };
}

type Entry = { readonly id: string };

/** What an address shows: the models that are visible to the account, those of them that it lists, and their shape. */
interface View {
  readonly visible: Visible;
  readonly serves: (model: ModelConfig) => boolean;
  readonly toEntry: (id: string, model: ModelConfig) => Entry;
}

function list(view: View, extra: object): Query {
  return {
    async answer({ accountId }, sources) {
      const data = (await listedModels(view, accountId!, sources)).map(([id, model]) => view.toEntry(id, model));
      const first_id = data[0]?.id ?? null;
      const last_id = data.at(-1)?.id ?? null;
      return { body: { ...extra, data, has_more: false, first_id, last_id } };
    },
  };
}

function detail(view: View): Query {
  return {
    async answer({ accountId, modelId }, sources) {
      const models = await listedModels(view, accountId!, sources);
      const found = models.find(([id, model]) => id === modelId || model.aliases.includes(modelId));
      if (found === undefined) throw modelAbsence(modelId);
      return { body: view.toEntry(...found) };
    },
  };
}

async function listedModels({ visible, serves }: View, accountId: string, sources: QuerySources) {
  const shown = await visible(accountId, sources);
  return Object.entries(sources.config().models).filter(
    ([id, model]) => model.listed && serves(model) && (shown === null || shown.has(id)),
  );
}

const shared: View = { visible: everything, serves: servesAnything, toEntry: sharedEntry };
const onMessages: View = { visible: everything, serves: servesMessages, toEntry: messagesEntry };
const coding: View = { ...shared, visible: inPlan };
const codingOnMessages: View = { ...onMessages, visible: inPlan };

export const modelList = list(shared, { object: 'list' });
export const modelDetail = detail(shared);
export const messagesModelList = list(onMessages, {});
export const messagesModelDetail = detail(onMessages);
export const codingModelList = list(coding, { object: 'list' });
export const codingModelDetail = detail(coding);
export const codingMessagesModelList = list(codingOnMessages, {});
export const codingMessagesModelDetail = detail(codingOnMessages);
