import type { z } from 'zod';
import { type TermPriceKey, termPriceKeys } from '../protocols/metering/service-terms.ts';
import {
  type MillionPriceKey,
  type OnePriceKey,
  pricedUnits,
  type UnitPrice,
} from '../protocols/metering/usage-units.ts';
import { operationNames } from '../protocols/operations/all.ts';
import { clientFormNames } from '../protocols/translation/pairs.ts';
import { attemptKeys } from './attempt-schema.ts';
import { dialect } from './dialect-schema.ts';
import {
  amountNano,
  anyText,
  day,
  dayRange,
  durationMs,
  factor,
  imagePrices,
  listOf,
  name,
  named,
  nameOrNone,
  oneOf,
  priceFactor,
  section,
  sizeBytes,
  startOfPrice,
  text,
  timezone,
  trueOrFalse,
  wholeNumber,
} from './fields.ts';
import { parameters } from './parameters-schema.ts';
import { useLimits } from './use-limits-schema.ts';

/** This file has the schema of the sections `models` and `plans` of `faregate.yaml`. */

const UNIT_PRICES: Readonly<Record<MillionPriceKey | OnePriceKey, string>> = {
  input: 'Input tokens.',
  cachedInput: 'Input tokens read from a cache. Without it, `input` applies.',
  cacheWrite: 'Input tokens written to a cache. Without it, `input` applies.',
  cacheWrite1h: 'Input tokens written to a cache for one hour. Without it, `input` applies.',
  imageInput: 'Image tokens in the input. Without it, `input` applies.',
  audioInput: 'Audio tokens in the input.',
  citations: 'Tokens of cited sources, if the provider counts them outside the input.',
  output: 'Output tokens.',
  imageOutput: 'Image tokens in the output.',
  audioOutput: 'Audio tokens in the output.',
  reasoning: 'Reasoning tokens, if the provider counts them outside the output.',
  perSearchUnit: 'One search unit of a rerank.',
  perWebSearch: 'One web search by the provider.',
  perWebFetch: 'One web page fetched by the provider.',
  perFileSearch: 'One file search by the provider.',
  perCodeExecution: 'One code execution by the provider.',
  perContainer: 'One container in which the provider runs code.',
  perToolUse: 'One use of any other tool that the provider runs.',
};

const TERM_PRICES: Readonly<Record<TermPriceKey, string>> = {
  serviceTiers: 'Factor on token prices, by the service tier that the provider reports.',
  speeds: 'Factor on token prices, by the speed that the provider reports.',
  inferenceGeos: 'Factor on token prices, by the region that the provider reports.',
};

type AmountFields<Key extends string> = Record<Key, z.ZodOptional<typeof amountNano>>;

function pricesOfUnits(per: UnitPrice['per']): AmountFields<string> {
  const keys = pricedUnits.filter(({ price }) => price.per === per).map(({ price }) => price.key);
  return Object.fromEntries(keys.map((key) => [key, amountNano.optional().describe(UNIT_PRICES[key])]));
}

const tokenPrices = pricesOfUnits('million') as AmountFields<MillionPriceKey>;

const runPrices = {
  ...tokenPrices,
  thinking: section(tokenPrices).optional().describe('Token prices for calls whose response reports reasoning.'),
  outputAbove: named('output lengths in tokens', section(tokenPrices))
    .optional()
    .describe('Token prices for calls with more output tokens than this.'),
};

/** Prices of a model. Its operations determine which ones are required (`rules.ts`). */
const unitPrices = {
  ...runPrices,
  perImage: imagePrices.optional().describe('One image, by quality and size if the prices differ.'),
  ...(pricesOfUnits('one') as AmountFields<OnePriceKey>),
  perCall: amountNano.optional().describe('One call.'),
  above: named('input lengths in tokens', section(runPrices))
    .optional()
    .describe('Token prices for calls with more input tokens than this.'),
  ...(Object.fromEntries(
    termPriceKeys.map((key) => [key, named('term names', priceFactor).optional().describe(TERM_PRICES[key])]),
  ) as Record<TermPriceKey, z.ZodOptional<z.ZodRecord<z.ZodString, typeof priceFactor>>>),
};

const officialPrices = section({
  input: amountNano.describe("The vendor's list price of input, for the catalog."),
  cachedInput: amountNano.optional().describe("The vendor's list price of cached input, for the catalog."),
  output: amountNano.describe("The vendor's list price of output, for the catalog."),
  discountBasisPoints: wholeNumber(1, 10_000).describe('Your price as a share of the list price; 8000 is 80 %.'),
});

const peakHours = listOf('at least one range of hours such as "09:00-21:00"', dayRange, 1).describe(
  'Peak hours. A range may cross midnight.',
);

const pricesOfDay = <Prices extends z.ZodRawShape>(prices: Prices) =>
  section({
    ...prices,
    timeOfDay: section({
      id: name.describe('Name of this time-of-day price list.'),
      timezone: timezone.describe('Time zone of the hours.'),
      peak: section({ hours: peakHours, ...prices }).describe('Prices in peak hours, with the keys of `price`.'),
      offPeak: section(prices).describe('Prices at all other hours, with the keys of `price`.'),
    }).optional(),
  });

const listPrices = { ...unitPrices, official: officialPrices.optional() };

/** Adds `later` to a price list: the lists that replace it from later days on. */
const pricesOverTime = <Prices extends z.ZodRawShape>(prices: Prices) =>
  pricesOfDay(prices).extend({
    later: listOf(
      'prices with `from`',
      pricesOfDay(prices).extend({
        from: startOfPrice.describe(
          'First day of these prices in the billing time zone, or the instant from which they apply.',
        ),
      }),
    )
      .optional()
      .describe('Prices that apply from a day on, with all keys of `price`, in the order of their `from`.'),
  });

const price = pricesOverTime(listPrices);
const cost = pricesOverTime(unitPrices);
/** Price of a model for the accounts of a group. */
export const groupPrice = cost;

/** The name of the model in responses. */
const showModel = oneOf(['provider', 'asked']);

const route = section({
  provider: name.describe('The provider that serves the model.'),
  model: name.describe('Name of the model at the provider.'),
  priority: wholeNumber(0, 1000).default(0).describe('Routes with the lowest number are tried first.'),
  weight: wholeNumber(0, 1_000_000)
    .default(1)
    .describe('Share of calls among routes of the same priority. 0 takes the route out of service.'),
  translate: listOf('at least one operation', oneOf(clientFormNames), 1)
    .optional()
    .describe(
      'Operations whose requests are translated for the provider. Other routes are tried first (`docs/translation.md`).',
    ),
  dialect: dialect
    .optional()
    .describe('How translated requests are written for this model. Replaces keys of the provider.'),
  parameters: parameters
    .optional()
    .describe('Changes of the request bodies for this model. A field here replaces that of the provider.'),
  showModel: showModel.optional().describe('Replaces `showModel` of the model for this route.'),
  limits: useLimits.optional().describe('Limits of the calls over this route, in addition to those of the provider.'),
  cost: cost
    .optional()
    .describe(
      'What calls over this route cost the operator, with the keys of `price` except `official`. Charges do not depend on it.',
    ),
});

/** What happens to a stream after a client abort (`docs/client-aborts.md`). */
export const onClientAbort = oneOf(['cancel', 'drain']);

const catalogText = anyText.optional();

export const model = section({
  aliases: listOf('names', name).default([]).describe('Other names of the model.'),
  displayName: name.optional().describe('Name in the catalog.'),
  manufacturer: nameOrNone.default('').describe('Manufacturer in the catalog and in model lists.'),
  released: day
    .optional()
    .describe(
      'Release date such as `2026-10-01`, for model lists. Default: the date in the id of the model or in the model name of a route.',
    ),
  capability: name.default('chat').describe('Kind of model in the catalog.'),
  description: catalogText.describe('Description in the catalog.'),
  contextLength: catalogText.describe('Context length in the catalog.'),
  maxOutputTokens: catalogText.describe(
    'Longest output in the catalog. Calls without a limit of their own reserve this many tokens.',
  ),
  modelSize: catalogText.describe('Model size in the catalog.'),
  inputModalities: catalogText.describe('Input modalities in the catalog.'),
  outputModalities: catalogText.describe('Output modalities in the catalog.'),
  docsPath: catalogText.describe("Address of the model's documentation in the catalog."),
  tokenFactor: factor
    .optional()
    .describe('Tokens of this model per o200k token. Set it if the estimate for its family is wrong.'),
  hiddenReasoning: trueOrFalse
    .optional()
    .describe(
      'Whether the model reasons without showing it, so that it generates more than clients see. Default: derived from reported usage.',
    ),
  onClientAbort: onClientAbort.optional().describe('Overrides `billing.onClientAbort` for this model.'),
  ...attemptKeys,
  affinity: oneOf(['session', 'off'])
    .default('session')
    .describe('Whether all calls of a session use the same route and credential, to reuse the cache of the provider.'),
  showModel: showModel
    .optional()
    .describe(
      'Name of the model in responses: that of the provider, or the one that the client asked for. Default: `provider`.',
    ),
  listed: trueOrFalse.default(true).describe('Whether the model is in the catalog and accepts calls.'),
  operations: listOf('at least one operation', oneOf(operationNames), 1).describe('Operations that the model serves.'),
  innerModels: named('model names', text)
    .default({})
    .describe(
      "Models that the body of a request may name. Each key is the vendor's name of a model, and its value the configured model that sets price and access.",
    ),
  price,
  routes: listOf('at least one route', route, 1),
});

export const plan = section({
  name: name.describe('Display name.'),
  fiveHourCalls: wholeNumber(0).describe('Calls per five hours.'),
  weeklyCalls: wholeNumber(0).describe('Calls per week.'),
  concurrency: wholeNumber(1).describe('Concurrent calls.'),
  quotaTokens: wholeNumber(0).describe('Tokens per period.'),
  periodDays: wholeNumber(1).describe('Length of a period in days.'),
  priceYuan: amountNano
    .optional()
    .describe('Price of a period. Reports spread this revenue over its days; no account is charged.'),
  models: listOf('at least one model', text, 1).describe('Models that the plan includes.'),
  inputByteLimit: sizeBytes.describe('Largest request.'),
  outputTokenLimit: wholeNumber(1).describe('Longest output in tokens.'),
  queue: section({
    length: wholeNumber(0, 10_000).default(0).describe('Calls that may wait at the concurrency limit.'),
    wait: durationMs.default(30_000).describe('Longest wait of a call in the queue.'),
  }).prefault({}),
});

type ModelConfig = z.infer<typeof model>;
type PriceConfig = ModelConfig['price'];
export type CostConfig = NonNullable<ModelConfig['routes'][number]['cost']>;
/** The price lists of one time, without later ones. */
export type PricesOfDayConfig = Omit<CostConfig, 'later'>;
export type RunPricesConfig = Pick<PriceConfig, 'thinking' | 'outputAbove'>;
/** Prices of a model itself, or those of a time of day. */
export type UnitPricesConfig = Pick<PriceConfig, keyof typeof unitPrices>;
