import { z } from 'zod';
import { isRecord } from '../lib/json/json.ts';
import { durationMs, isBareHttp, listOf, name, secret, section, trueOrFalse, wireName } from './fields.ts';

/** The providers at which people can sign in by OpenID Connect, in a configuration. */

const ISSUER =
  'the address of an OpenID provider such as https://login.example, without credentials, query or fragment';
const ISSUER_LENGTH_MAX = 500;

/** The address by which a provider names itself. It stays as it is written, because its last slash counts. */
export const issuerUrl = z.string({ error: ISSUER }).refine(isIssuer, { error: ISSUER });

function isIssuer(value: string): boolean {
  return value.length <= ISSUER_LENGTH_MAX && isBareHttp(URL.parse(value));
}

/** A scope of OAuth (RFC 6749, section 3.3). */
export const scope = z.string({ error: 'a scope' }).regex(/^[\x21\x23-\x5b\x5d-\x7e]{1,100}$/, {
  error: 'a scope such as email, without spaces',
});

export const oidcProvider = section({
  issuer: issuerUrl,
  clientId: name,
  /** Absent: a public client, which proves itself by PKCE alone. */
  clientSecret: secret.optional(),
  /** What people read where they choose; by default the name of the provider here. */
  displayName: name.optional(),
  scopes: listOf('scopes', scope).default(['openid', 'email', 'profile']),
  /** How long each request to the provider may take. */
  timeout: durationMs.default(5_000),
  /** Whether the issuer may be http://, on this machine only. */
  allowInsecure: trueOrFalse.default(false),
});

interface Breach {
  readonly path: readonly PropertyKey[];
  readonly message: string;
}

/** Rules between the values of the section `oidc`, as they came from the file. */
export function oidcBreaches(oidc: unknown, publicUrl: unknown): Breach[] {
  const providers = isRecord(oidc) ? Object.entries(oidc) : [];
  const issuers = new Map<string, string>();
  return providers.flatMap(([id, provider], index): Breach[] => {
    const at = (...path: string[]): Breach['path'] => ['oidc', id, ...path];
    const { issuer, scopes, allowInsecure } = isRecord(provider) ? provider : {};
    const breaches: Breach[] = [];
    if (index === 0 && (publicUrl === undefined || publicUrl === null)) {
      const message = 'This needs "server.publicUrl": providers send people back to an address that they know.';
      breaches.push({ path: at(), message });
    }
    if (!wireName.safeParse(id).success) {
      breaches.push({ path: at(), message: 'The name stands in addresses: lower-case letters, digits and hyphens.' });
    }
    if (Array.isArray(scopes) && !scopes.includes('openid')) {
      breaches.push({ path: at('scopes'), message: 'The scope "openid" is missing; without it nobody is named.' });
    }
    if (typeof issuer !== 'string' || !isIssuer(issuer)) return breaches;
    const other = issuers.get(new URL(issuer).href);
    if (other !== undefined)
      breaches.push({ path: at('issuer'), message: `This is the issuer of "${other}" already.` });
    issuers.set(new URL(issuer).href, id);
    const { protocol, hostname } = new URL(issuer);
    if (protocol === 'http:' && !(isTrue(allowInsecure) && isLoopback(hostname))) {
      const message = 'Use https://. An http:// issuer has to be on this machine, and needs "allowInsecure: true".';
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
