import type { IncomingMessage } from 'node:http';
import { GatewayError } from '../errors/gateway-error.ts';

/** In which headers the API key may be (contract, section 5). */
export type CredentialForms = 'bearer' | 'bearer-or-x-api-key';

const BEARER = /^bearer[ \t]+(\S+)[ \t]*$/i;

/**
 * Returns the API key of a request, which may contain it several times. If exactly one of the two headers has a key of this gateway
 * (`isKey`), the other header is ignored, because it may be for another server, such as a proxy.
 *
 * @throws GatewayError `invalidApiKey` if there is no key, if two keys differ, or if `forms` does not allow the header
 */
export function readCredential(
  request: IncomingMessage,
  forms: CredentialForms,
  isKey: (text: string) => boolean = () => false,
): string {
  const lines = readLines(request.rawHeaders);
  if (lines.tokens.length === 1 && lines.tokens[0] !== null && lines.apiKeys.length === 0) return lines.tokens[0]!;
  const { tokens, apiKeys } = withoutForeign(lines, isKey);
  if (tokens.includes(null)) throw refused('The Authorization header must read "Bearer <API key>".');
  const apiKey = theOnly(apiKeys);
  const bearer = theOnly(tokens);
  if (bearer !== undefined) return theOnly([...apiKeys, bearer])!;
  if (apiKey !== undefined && forms === 'bearer-or-x-api-key') {
    if (apiKey === '') throw refused('The x-api-key header is empty.');
    return apiKey;
  }
  if (apiKey !== undefined)
    throw refused('This address accepts the API key only as "Authorization: Bearer <API key>".');
  throw refused(
    forms === 'bearer'
      ? 'The API key is missing. Send it as "Authorization: Bearer <API key>".'
      : 'The API key is missing. Send it as "x-api-key: <API key>" or "Authorization: Bearer <API key>".',
  );
}

interface CredentialLines {
  /** Token of each Authorization line; `null` for a line other than `Bearer <token>`. */
  readonly tokens: readonly (string | null)[];
  readonly apiKeys: readonly string[];
}

/** Reads the raw lines. Node's `headers` has only the first Authorization line. */
function readLines(lines: readonly string[]): CredentialLines {
  const tokens: (string | null)[] = [];
  const apiKeys: string[] = [];
  for (let i = 0; i < lines.length; i += 2) {
    const name = lines[i]!;
    if (name.length === 13 && name.toLowerCase() === 'authorization') {
      tokens.push(BEARER.exec(lines[i + 1]!)?.[1] ?? null);
    } else if (name.length === 9 && name.toLowerCase() === 'x-api-key') {
      apiKeys.push(lines[i + 1]!.trim());
    }
  }
  return { tokens, apiKeys };
}

/** Removes one of the two headers if only the other one has a key of this gateway. */
function withoutForeign(lines: CredentialLines, isKey: (text: string) => boolean): CredentialLines {
  const { tokens, apiKeys } = lines;
  if (tokens.length === 0 || apiKeys.length === 0) return lines;
  const inAuthorization = tokens.some((token) => token !== null && isKey(token));
  const inApiKey = apiKeys.some(isKey);
  if (inAuthorization === inApiKey) return lines;
  return inAuthorization ? { tokens, apiKeys: [] } : { tokens: [], apiKeys };
}

function theOnly(keys: readonly (string | null)[]): string | undefined {
  const [first] = keys;
  if (keys.some((key) => key !== first)) throw refused('The request has two different API keys.');
  return first ?? undefined;
}

function refused(message: string): GatewayError {
  return new GatewayError('invalidApiKey', { message });
}
