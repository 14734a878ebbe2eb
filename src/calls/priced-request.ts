import type { UnitPrices } from '../accounting/pricing/charge.ts';
import { unpricedTerms } from '../accounting/pricing/token-rates.ts';
import { invalidRequest } from '../errors/gateway-error.ts';
import { serviceTerms } from '../protocols/metering/service-terms.ts';
import type { Demand } from '../protocols/operations/operation.ts';

/**
 * Checks that what a request asks for by name has a price: a tier of service, a speed, a region, audio. Tools that it only
 * lists need none, since agents list them with every request.
 *
 * @throws GatewayError `invalidRequest` with the field to blame.
 */
export function checkPriced({ terms, audioInput, audioOutput }: Demand, prices: UnitPrices): void {
  const [term] = unpricedTerms(prices, terms);
  if (term !== undefined) {
    const { member, plain } = serviceTerms[term];
    const value = JSON.stringify(terms[term]);
    throw invalidRequest(
      `This model has no price for the "${member}" ${value}. Leave the field out, or set it to "${plain[0]}".`,
      member,
    );
  }
  if (audioInput !== null && prices.audioInputNanoPerMillion === undefined) {
    throw invalidRequest(`This model has no price for audio, which "${audioInput}" contains.`, audioInput);
  }
  if (audioOutput !== null && prices.audioOutputNanoPerMillion === undefined) {
    throw invalidRequest(`This model has no price for audio, which "${audioOutput}" asks for.`, audioOutput);
  }
}
