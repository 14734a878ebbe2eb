import { OPEN_THINKING_TOKENS } from '../protocols/operations/demand.ts';
import type { CallInput, Demand } from '../protocols/operations/operation.ts';
import type { TranslationTarget } from '../protocols/translation/translated-request.ts';
import type { Route } from '../providers/catalog/catalog.ts';
import type { CallPricing } from './call-pricing.ts';
import { type EstimateTerms, estimateReservation, type ReservationEstimate } from './reservation-estimate.ts';

/** How much larger than the client's request a translated one may be: arguments are text in chat, so their quotes are escaped. */
const GROWTH = 5 / 4;
/** Tokens of what a translation adds, whatever the size: placeholders, labels, descriptions. */
const ADDED_TOKENS = 1_024;
type EstimatedInput = Pick<CallInput, 'inputTokensEstimate' | 'choices' | 'demand'>;

/**
 * What a call may ask for on its routes: the client's request, the one that was translated, and an upper estimate for each route that needs
 * another translation, which is made only if that route is tried.
 */
export function estimatesOfRoutes(
  input: EstimatedInput,
  translation: { readonly route: Route; readonly input: EstimatedInput } | null,
  routes: readonly Pick<Route, 'translation'>[],
): readonly EstimatedInput[] {
  const others = routes.filter((route) => route !== translation?.route && route.translation !== undefined);
  return [
    input,
    ...(translation === null ? [] : [translation.input]),
    ...others.map(({ translation: other }) => atMostTranslated(input, other!.target)),
  ];
}

function atMostTranslated({ inputTokensEstimate, choices, demand }: EstimatedInput, target: TranslationTarget) {
  const more: Partial<Demand> =
    target.form === 'messages'
      ? { writesCache: demand.writesCache || target.dialect.promptCache === 'auto' }
      : target.dialect.reasoning === 'enable_thinking'
        ? addedThinking(demand)
        : {};
  return {
    inputTokensEstimate: Math.ceil(inputTokensEstimate * GROWTH) + ADDED_TOKENS,
    choices,
    demand: { ...demand, ...more },
  };
}

/** Providers with `enable_thinking` add its budget, which is part of the client's limit, to the output limit. */
function addedThinking({ thinkingTokens, moreOutputTokens, outputTokensLimit }: Demand): Partial<Demand> {
  return {
    thinkingTokens: Math.max(thinkingTokens, outputTokensLimit ?? 0),
    moreOutputTokens: Math.max(moreOutputTokens, OPEN_THINKING_TOKENS),
  };
}

/** The greatest of several estimates. Each of its figures covers those of all. */
export function greatestEstimate(estimates: readonly ReservationEstimate[]): ReservationEstimate {
  return estimates.reduce((one, other) => ({
    ...(other.amountNano > one.amountNano ? other : one),
    inputTokens: Math.max(one.inputTokens, other.inputTokens),
    tokens: Math.max(one.tokens, other.tokens),
  }));
}

/** Whether a reservation covers what a translated request asks for. Otherwise its charge could exceed what was admitted. */
export function isCovered(
  input: EstimatedInput,
  { price, basis, estimate }: Pick<CallPricing, 'price' | 'basis' | 'estimate'>,
  model: EstimateTerms['model'],
): boolean {
  // A translated request continues no state of a provider.
  const asked = estimateReservation(input, { model, prices: price.prices, basis, continuedTokens: 0 });
  return asked.amountNano <= estimate.amountNano && asked.tokens <= estimate.tokens;
}
