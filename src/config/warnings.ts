import { isPlaceholder } from '../lib/weak-secret.ts';
import { operationOf } from '../protocols/operations/all.ts';
import { OUTPUT_TOKENS_DEFAULT } from '../protocols/operations/operation.ts';
import { credentialsOf } from './provider-credentials.ts';
import type { Config, ModelConfig, PricesOfDayConfig, UnitPricesConfig } from './schema.ts';

interface ConfigWarning {
  /** Dotted path of the setting. */
  readonly key: string;
  readonly message: string;
}

/** Warns of usage that providers may bill, but for which the configuration has no price or no limit. */
export function priceWarnings({ models }: Pick<Config, 'models'>): ConfigWarning[] {
  const byId = Object.entries(models);
  return [
    ...byId.flatMap(([id, model]) => toolWarnings(id, model)),
    ...byId.flatMap(([id, model]) => limitWarnings(id, model)),
  ];
}

/** Operations whose output has no limit of its own. */
const TEXT_OPERATIONS: readonly string[] = ['chat', 'messages', 'responses'];

function limitWarnings(id: string, { operations, maxOutputTokens }: ModelConfig): ConfigWarning[] {
  if (maxOutputTokens !== undefined || !operations.some((name) => TEXT_OPERATIONS.includes(name))) return [];
  const message =
    `The output has no limit. Requests without a limit reserve ${OUTPUT_TOKENS_DEFAULT} tokens, and a call may cost more than ` +
    'its reservation.';
  return [{ key: `models.${id}.maxOutputTokens`, message }];
}

function toolWarnings(id: string, model: ModelConfig): ConfigWarning[] {
  const keys = [...new Set(model.operations.flatMap((name) => operationOf(name).toolPrices ?? []))];
  return priceListsInForce(model).flatMap(([path, prices]): ConfigWarning[] => {
    const missing = keys.filter((key) => prices[key] === undefined);
    if (missing.length === 0) return [];
    const message =
      'The provider can run tools that are not charged, because their prices are missing. If a tool is free, set "0": ' +
      `${missing.join(', ')}.`;
    return [{ key: `models.${id}.${path}`, message }];
  });
}

function priceListsInForce({ price }: ModelConfig): (readonly [path: string, prices: UnitPricesConfig])[] {
  const later = price.later ?? [];
  return [...listsOf('price', price), ...later.flatMap((prices, index) => listsOf(`price.later.${index}`, prices))];
}

function listsOf(path: string, prices: PricesOfDayConfig): (readonly [path: string, prices: UnitPricesConfig])[] {
  const { timeOfDay } = prices;
  if (timeOfDay === undefined) return [[path, prices]];
  return [
    [`${path}.timeOfDay.peak`, timeOfDay.peak],
    [`${path}.timeOfDay.offPeak`, timeOfDay.offPeak],
  ];
}

type WithSecrets = Pick<Config, 'database' | 'mail' | 'oidc' | 'providers'>;

export function secretWarnings(config: WithSecrets): ConfigWarning[] {
  return secretsOf(config).flatMap(([key, value]): ConfigWarning[] => {
    if (value === undefined || value === '' || !isPlaceholder(value)) return [];
    return [{ key, message: 'This is a placeholder, which anyone can guess. Set a real secret.' }];
  });
}

function secretsOf(config: WithSecrets): (readonly [key: string, value: string | undefined])[] {
  const { database, mail, oidc, providers } = config;
  return [
    ['database.url', PASSWORD_IN_ADDRESS.exec(database.url)?.[1]],
    ['mail.smtp.password', mail?.smtp.password],
    ...Object.entries(oidc).map(([id, { clientSecret }]) => [`oidc.${id}.clientSecret`, clientSecret] as const),
    ...Object.entries(providers).flatMap(([id, provider]) =>
      credentialsOf(provider).map(({ name, value }) => [`providers.${id}.${name}`, value] as const),
    ),
  ];
}

const PASSWORD_IN_ADDRESS = /^[a-z]+:\/\/[^:@/?#]*:([^@]*)@/;
