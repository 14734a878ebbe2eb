import { type ReadResponse, type ResponseReading, responseReading } from '../metering/response.ts';
import { type ChargeBasis, noUsage, type Usage } from '../metering/usage-facts.ts';
import { pictureRules } from './pictures.ts';
import { deliveredAs, deliveredSize, readImageUsage, withSvgUsage } from './usage.ts';

export interface RequestedImages {
  readonly quality: string | null;
  readonly size: string | null;
}

/** Reads image responses that are not streams (contract 2.2). Images are only counted: they are megabytes of base64. */
export function imagesResponse(request: RequestedImages): ResponseReading {
  const reading = responseReading(['created', 'usage', 'svg_usage', 'quality', 'size'], (response, basis) => {
    if (typeof response.member('created') !== 'number') return null;
    const count = response.holding('pictures');
    if (count === 0) return response.holding('failures') > 0 ? noUsage : null;
    const tokens = readTokens(response, basis);
    if (tokens === null) return null;
    const quality = deliveredAs(response.member('quality'), request.quality);
    const size = deliveredSize(response.member('size'), request.size);
    return { ...tokens, images: [{ quality, ...size, count }] };
  });
  return { ...reading, holding: pictureRules };
}

/** Reads the tokens. They must be present only if they determine the charge. */
function readTokens(response: ReadResponse, basis: ChargeBasis): Usage | null {
  const usage = readImageUsage(response.member('usage'));
  const total = usage === null ? null : withSvgUsage(usage, response.member('svg_usage'));
  return basis === 'tokens' ? total : (total ?? usage ?? noUsage);
}
