import { z } from 'zod';
import { isRecord } from '../lib/json/json.ts';
import { durationMs, isBareHttp, listOf, name, secret, section, trueOrFalse, wireName } from './fields.ts';

const ISSUER =
  'the address of an OpenID provider such as https://login.example, without credentials, query or fragment';
const ISSUER_LENGTH_MAX = 500;

/** URL of an OpenID issuer. It is kept as it is, because a slash at its end matters. */
export const issuerUrl = z.string({ error: ISSUER }).refine(isIssuer, { error: ISSUER });

function isIssuer(value: string): boolean {
  return value.length <= ISSUER_LENGTH_MAX && isBareHttp(URL.parse(value));
}

/** A scope, as defined in RFC 6749, section 3.3. */
export const scope = z.string({ error: 'a scope' }).regex(/^[\x21\x23-\x5b\x5d-\x7e]{1,100}$/, {
  error: 'a scope such as email, without spaces',
});

export const oidcProvider = section({
  issuer: issuerUrl.describe('Issuer of the OpenID provider.'),
  clientId: name.describe('Client id of the gateway at the provider.'),
  clientSecret: secret
    .optional()
    .describe(
      'Client secret of the gateway at the provider. Default: a public client that authenticates by PKCE alone. Secret.',
    ),
  displayName: name.optional().describe('Name on the sign-in page. Default: the name of this section.'),
  scopes: listOf('scopes', scope)
    .default(['openid', 'email', 'profile'])
    .describe('Requested scopes. `openid` is required.'),
  timeout: durationMs.default(5_000).describe('Timeout of each request to the provider.'),
  allowInsecure: trueOrFalse.default(false).describe('Allows an `http://` issuer on this machine.'),
});

interface Breach {
  readonly path: readonly PropertyKey[];
  readonly message: string;
}

/** Checks rules between values of the file, which the schema has not validated. */
export function oidcBreaches(oidc: unknown, publicUrl: unknown): Breach[] {
  const providers = isRecord(oidc) ? Object.entries(oidc) : [];
  const issuers = new Map<string, string>();
  return providers.flatMap(([id, provider], index): Breach[] => {
    const at = (...path: string[]): Breach['path'] => ['oidc', id, ...path];
    const { issuer, scopes, allowInsecure } = isRecord(provider) ? provider : {};
    const breaches: Breach[] = [];
    if (index === 0 && (publicUrl === undefined || publicUrl === null)) {
      const message =
        'OpenID Connect requires "server.publicUrl", with which the redirect address at the provider begins.';
      breaches.push({ path: at(), message });
    }
    if (!wireName.safeParse(id).success) {
      breaches.push({
        path: at(),
        message: 'This name is part of URLs: use lower-case letters, digits and hyphens, and begin with a letter.',
      });
    }
    if (Array.isArray(scopes) && !scopes.includes('openid')) {
      breaches.push({ path: at('scopes'), message: 'The scope "openid" is required.' });
    }
    if (typeof issuer !== 'string' || !isIssuer(issuer)) return breaches;
    const other = issuers.get(new URL(issuer).href);
    if (other !== undefined) breaches.push({ path: at('issuer'), message: `"${other}" already has this issuer.` });
    issuers.set(new URL(issuer).href, id);
    const { protocol, hostname } = new URL(issuer);
    if (protocol === 'http:' && !(isTrue(allowInsecure) && isLoopback(hostname))) {
      const message = 'Use https://. An http:// issuer must be on this machine and requires "allowInsecure: true".';
      breaches.push({ path: at('issuer'), message });
    }
    return breaches;
  });
}

function isTrue(value: unknown): boolean {
  return value === true || value === 'true';
}

function isLoopback(hostname: string): boolean {
  return hostname === 'localhost' || hostname === '[::1]' || /^127(\.\d+){3}$/.test(hostname);
}
