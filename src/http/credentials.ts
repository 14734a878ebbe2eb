import type { IncomingMessage } from 'node:http';
import { GatewayError } from '../errors/gateway-error.ts';

/** Which headers may carry the key at an address (contract, section 5). */
export type CredentialForms = 'bearer' | 'bearer-or-x-api-key';

const BEARER = /^bearer[ \t]+(\S+)[ \t]*$/i;

/**
 * The API key of a request. The scheme is case-insensitive; the same key in several places is one key, and two
 * different keys are refused wherever they stand. Node keeps only the first of two Authorization lines, so the raw
 * lines are looked at.
 *
 * @throws GatewayError `invalidApiKey` where there is none, more than one, or one in a place that is not read here.
 */
export function readCredential(request: IncomingMessage, forms: CredentialForms): string {
  let bearer: string | undefined;
  let apiKey: string | undefined;
  const lines = request.rawHeaders;
  for (let i = 0; i < lines.length; i += 2) {
    const name = lines[i]!;
    if (name.length === 13 && name.toLowerCase() === 'authorization') {
      const token = BEARER.exec(lines[i + 1]!)?.[1];
      if (token === undefined) throw refused('The Authorization header must read "Bearer <API key>".');
      bearer = agreed(bearer, token);
    } else if (name.length === 9 && name.toLowerCase() === 'x-api-key') {
      apiKey = agreed(apiKey, lines[i + 1]!.trim());
    }
  }
  if (bearer !== undefined) return agreed(apiKey, bearer);
  if (apiKey !== undefined && forms === 'bearer-or-x-api-key') {
    if (apiKey === '') throw refused('The x-api-key header is empty.');
    return apiKey;
  }
  if (apiKey !== undefined) throw refused('This address takes the API key as "Authorization: Bearer <API key>".');
  throw refused(
    forms === 'bearer'
      ? 'The API key is missing. Send it as "Authorization: Bearer <API key>".'
      : 'The API key is missing. Send it as "x-api-key: <API key>" or "Authorization: Bearer <API key>".',
  );
}

function agreed(known: string | undefined, next: string): string {
  if (known !== undefined && known !== next) throw refused('The request carries two different API keys.');
  return next;
}

function refused(message: string): GatewayError {
  return new GatewayError('invalidApiKey', { message });
}
