import { serviceTerms, termNames } from '../../protocols/metering/service-terms.ts';
import { type ChargeBasis, inputTokensOf, type Usage } from '../../protocols/metering/usage-facts.ts';
import { pricedUnits } from '../../protocols/metering/usage-units.ts';
import type { PricedBy } from '../ledger/call-outcome.ts';
import type { UnitPrices } from './charge.ts';
import { stepFor, termFactor, unpricedTerms } from './token-rates.ts';

/** What chose the prices of a call's tokens beside the price list; `null`: nothing. */
export function pricedBy(usage: Usage, prices: UnitPrices, basis: ChargeBasis): PricedBy | null {
  if (basis !== 'tokens') return null;
  const step = stepFor(prices.above, inputTokensOf(usage));
  const { servedOn = {} } = usage;
  const terms = termNames.filter((name) => termFactor(prices, name, servedOn[name]) !== null);
  if (step === null && terms.length === 0) return null;
  return { ...(step !== null && { above: step }), ...Object.fromEntries(terms.map((name) => [name, servedOn[name]])) };
}

/**
 * The keys of prices that a list lacks for what was used. Audio is then charged as text, a tier at the plain price, and the
 * use of a tool not at all.
 */
export function unpricedUses(usage: Usage, prices: UnitPrices, basis: ChargeBasis): readonly string[] {
  if (basis !== 'tokens') return [];
  const { servedOn = {} } = usage;
  return [
    ...MARKED.flatMap(({ name, field, price }) => (usage[name] > 0 && prices[field] === undefined ? [price.key] : [])),
    ...unpricedTerms(prices, servedOn).map((name) => `${serviceTerms[name].priceKey}.${servedOn[name]}`),
  ];
}

const MARKED = pricedUnits.filter(({ price }) => price.isMarked === true);
