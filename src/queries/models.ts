import { tokenLimit } from '../catalog/catalog.ts';
import type { Config, ModelConfig } from '../config/schema.ts';
import { GatewayError } from '../errors/gateway-error.ts';
import type { Query } from './query.ts';

/**
 * Model lists and details. Their shapes follow the vendors' current ones (design 5.4; wire facts 5.8): an entry of the
 * shared list is a superset that both families' clients read. An alias is answered with the canonical id (contract 2.6).
 */

/** When a model came out is not configured; the vendors themselves answer the epoch where they do not know. */
const CREATED_AT_SECONDS = 0;
const CREATED_AT = new Date(CREATED_AT_SECONDS * 1_000).toISOString();

const servesMessages = (model: ModelConfig): boolean => model.operations.includes('messages');
const servesAnything = (): boolean => true;
/** What a Coding Plan opens (contract 4.8). Nobody has a plan yet: plans are validated, not sold. */
const isInPlan = (): boolean => false;

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

function list(
  serves: (model: ModelConfig) => boolean,
  toEntry: (id: string, model: ModelConfig) => Entry,
  extra: object,
): Query {
  return {
    async answer(_request, sources) {
      const data = listedModels(sources.config(), serves).map(([id, model]) => toEntry(id, model));
      const first_id = data[0]?.id ?? null;
      const last_id = data.at(-1)?.id ?? null;
      return { body: { ...extra, data, has_more: false, first_id, last_id } };
    },
  };
}

function detail(serves: (model: ModelConfig) => boolean, toEntry: (id: string, model: ModelConfig) => Entry): Query {
  return {
    async answer({ modelId }, sources) {
      const found = findModel(sources.config(), serves, modelId);
      if (found === undefined) throw new GatewayError('modelAbsent', { param: 'model' });
      return { body: toEntry(...found) };
    },
  };
}

function listedModels(config: Config, serves: (model: ModelConfig) => boolean) {
  return Object.entries(config.models).filter(([, model]) => model.listed && serves(model));
}

function findModel(config: Config, serves: (model: ModelConfig) => boolean, name: string) {
  return listedModels(config, serves).find(([id, model]) => id === name || model.aliases.includes(name));
}

export const modelList = list(servesAnything, sharedEntry, { object: 'list' });
export const modelDetail = detail(servesAnything, sharedEntry);
export const messagesModelList = list(servesMessages, messagesEntry, {});
export const messagesModelDetail = detail(servesMessages, messagesEntry);
export const codingModelList = list(isInPlan, sharedEntry, { object: 'list' });
export const codingModelDetail = detail(isInPlan, sharedEntry);
export const codingMessagesModelList = list(isInPlan, messagesEntry, {});
export const codingMessagesModelDetail = detail(isInPlan, messagesEntry);
