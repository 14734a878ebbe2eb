import {
  baseUrl,
  exchangeRate,
  listOf,
  longDurationMs,
  named,
  percentage,
  section,
  text,
  vendorModel,
  wholeNumber,
} from './fields.ts';

/** The section `priceSource` of the catalog: prices that follow a price file (`docs/operations/catalog.md`). */

const DAY_MS = 86_400_000;

/** Exactly one of `url` and `file` is set: `rules.ts`. */
export const priceSource = section({
  url: baseUrl.optional().describe("Address of a price file in LiteLLM's format. Redirects are not followed."),
  file: text.optional().describe('Path of such a file, which every node has, in place of `url`.'),
  every: longDurationMs.default(DAY_MS).describe('Time between two reads of the source.'),
  usdCny: exchangeRate.describe('Yuan per dollar.'),
  marginPercent: percentage
    .default('0')
    .describe('Percentage to add to the prices of models. The costs of routes are the prices of the source.'),
  models: listOf('at least one model name, in which * is any text', text, 1)
    .default(['*'])
    .describe('Models whose prices and costs follow the source. `*` matches any text.'),
  names: named('model names', vendorModel)
    .default({})
    .describe(
      'Vendor and name of a model in the source, such as `openai/gpt-4o`. Default: the vendor at the address of the provider, and the model name of the route.',
    ),
  applyBelowPercent: wholeNumber(1, 100)
    .optional()
    .describe(
      'Changes come into force by themselves if each of them is at most this percentage. Default: all changes wait for a decision.',
    ),
});
