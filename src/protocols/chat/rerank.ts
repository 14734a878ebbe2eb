import type { ResponseReading } from '../metering/response.ts';
import { noUsage } from '../metering/usage-facts.ts';
import { firstCount, PASS_THROUGH_MEMBERS } from './token-counts.ts';

/** Reads rerank responses of all vendors. They must contain the quantity that is charged: tokens or search units. */
export const rerankResponse: ResponseReading = {
  keep: PASS_THROUGH_MEMBERS,
  count: ['results', 'data'],
  usage(response, basis) {
    if (response.count('results') === null && response.count('data') === null) return null;
    const inputTokens = firstCount(response, [
      [['usage', 'total_tokens']],
      [['usage', 'prompt_tokens']],
      [['usage', 'input_tokens']],
      [['meta', 'billed_units', 'total_tokens']],
      [
        ['meta', 'tokens', 'input_tokens'],
        ['meta', 'tokens', 'output_tokens'],
      ],
      [
        ['tokens', 'input_tokens'],
        ['tokens', 'output_tokens'],
      ],
    ]);
    const searchUnits = firstCount(response, [[['meta', 'billed_units', 'search_units']], [['usage', 'search_units']]]);
    if (basis === 'tokens' && inputTokens === null) return null;
    if (basis === 'searchUnits' && searchUnits === null) return null;
    return { ...noUsage, inputTokens: inputTokens ?? 0, searchUnits: searchUnits ?? 0 };
  },
  continuationKeys: () => [],
  hasResults: (response) => (response.count('results') ?? 0) + (response.count('data') ?? 0) > 0,
  estimate: {
    keep: [],
    count: [],
    isSuccess: () => true,
    members: ({ inputTokens, searchUnits }) => ({
      usage: { total_tokens: inputTokens },
      meta: { billed_units: { search_units: searchUnits } },
    }),
  },
};
