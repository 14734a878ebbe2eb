import type { Configuration } from 'openid-client';
import { isPlainText, isStorable } from '../lib/plain-text.ts';
import { type FetchOptions, fetchFromProvider, ProviderUnavailableError } from './oidc-fetch.ts';
import type { FlowSecrets } from './oidc-secrets.ts';

export interface OidcSettings {
  readonly issuer: string;
  readonly clientId: string;
  readonly clientSecret?: string | undefined;
  readonly scopes: readonly string[];
  readonly timeout: number;
  readonly allowInsecure: boolean;
}

/** An identity that a provider has proved. Only `issuer` and `subject` identify the user. */
export interface ProvenIdentity {
  readonly issuer: string;
  readonly subject: string;
  /** E-mail address, if the provider says that it is verified; otherwise `null`. */
  readonly email: string | null;
  readonly name: string | null;
  /** The provider's `auth_time`; `null` if it does not state one. */
  readonly authenticatedAtMs: number | null;
}

export type OidcFault =
  | 'provider_unavailable'
  /** The provider refused, or the user declined. */
  | 'provider_refused'
  /** The response is invalid, or was issued for another sign-in. */
  | 'provider_answer_invalid';

/** Thrown if a sign-in fails. `reason` contains neither secrets nor personal data. */
export class OidcError extends Error {
  readonly fault: OidcFault;
  readonly reason: string;

  constructor(fault: OidcFault, reason: string) {
    super(`${fault}: ${reason}`);
    this.fault = fault;
    this.reason = reason;
  }
}

const DISCOVERY_KEPT_MS = 3_600_000;
/** Tolerated difference between the clocks of the provider and this machine. */
const CLOCK_TOLERANCE_SECONDS = 30;
const SUBJECT_LENGTH_MAX = 255;
const EMAIL = /^[^\s@]+@[^\s@]+$/;
const TEXT_LENGTH_MAX = 200;

export type OidcClient = ReturnType<typeof createOidcClient>;

interface Discovered {
  readonly untilMs: number;
  readonly configuration: Promise<Configuration>;
}

const loadLibrary = () => import('openid-client');

/** @param nowMs a monotonic clock */
export function createOidcClient(nowMs: () => number) {
  /** Discovered settings, by configuration. A new configuration has new objects, so old entries are garbage-collected. */
  const known = new WeakMap<OidcSettings, Discovered>();

  /** Returns the settings of a provider. Concurrent callers share one request. A failure is not cached. */
  function configurationOf(provider: OidcSettings): Promise<Configuration> {
    const found = known.get(provider);
    if (found !== undefined && nowMs() < found.untilMs) return found.configuration;
    const configuration = discover(provider);
    known.set(provider, { untilMs: nowMs() + DISCOVERY_KEPT_MS, configuration });
    configuration.catch(() => known.delete(provider));
    return configuration;
  }

  return {
    /** Returns the address to sign in. `isAgain`: the user must do so again, and the provider states when. @throws OidcError */
    authorizationUrl: (
      provider: OidcSettings,
      { state, nonce, codeVerifier }: FlowSecrets,
      redirectUri: string,
      isAgain: boolean,
    ) =>
      orOidcError(async () => {
        const { buildAuthorizationUrl, calculatePKCECodeChallenge } = await loadLibrary();
        const configuration = await configurationOf(provider);
        const url = buildAuthorizationUrl(configuration, {
          redirect_uri: redirectUri,
          scope: provider.scopes.join(' '),
          state,
          nonce,
          code_challenge: await calculatePKCECodeChallenge(codeVerifier),
          code_challenge_method: 'S256',
          ...(isAgain && { prompt: 'login', max_age: '0' }),
        });
        return url.href;
      }),
    /** Exchanges the code in the callback URL for the identity of the user. @throws OidcError */
    identify: (provider: OidcSettings, { state, nonce, codeVerifier }: FlowSecrets, callback: URL) =>
      orOidcError(async () => {
        const { authorizationCodeGrant } = await loadLibrary();
        const tokens = await authorizationCodeGrant(await configurationOf(provider), callback, {
          expectedState: state,
          expectedNonce: nonce,
          pkceCodeVerifier: codeVerifier,
          idTokenExpected: true,
        });
        return identityOf(tokens.claims() ?? {});
      }),
  };
}

async function discover({
  issuer,
  clientId,
  clientSecret,
  timeout,
  allowInsecure,
}: OidcSettings): Promise<Configuration> {
  const library = await loadLibrary();
  const { allowInsecureRequests, discovery, enableNonRepudiationChecks } = library;
  const { ClientSecretBasic, ClientSecretPost, None } = library;
  // Makes the library verify signatures, although tokens come directly from the provider.
  const execute = [enableNonRepudiationChecks, ...(allowInsecure ? [allowInsecureRequests] : [])];
  return discovery(
    new URL(issuer),
    clientId,
    { [library.clockTolerance]: CLOCK_TOLERANCE_SECONDS },
    (server, client, body, headers) => {
      if (clientSecret === undefined) return None()(server, client, body, headers);
      const methods = server.token_endpoint_auth_methods_supported ?? ['client_secret_basic'];
      const isBasic = methods.includes('client_secret_basic');
      const authenticate = isBasic ? ClientSecretBasic(clientSecret) : ClientSecretPost(clientSecret);
      return authenticate(server, client, body, headers);
    },
    {
      execute,
      timeout: timeout / 1000,
      [library.customFetch]: (url, options) => fetchFromProvider(url, options as unknown as FetchOptions),
    },
  );
}

function identityOf(claims: Readonly<Record<string, unknown>>): ProvenIdentity {
  const { iss: issuer, sub: subject, email, email_verified: isVerified, name, preferred_username: userName } = claims;
  const { auth_time: authTime } = claims;
  if (typeof issuer !== 'string' || typeof subject !== 'string' || !isSubject(subject)) {
    throw new OidcError('provider_answer_invalid', 'the subject claim is missing or not a valid string');
  }
  const address = shownText(email);
  return {
    issuer,
    subject,
    email: isVerified === true && address !== null && EMAIL.test(address) ? address : null,
    name: shownText(name) ?? shownText(userName),
    authenticatedAtMs: typeof authTime === 'number' && Number.isFinite(authTime) ? authTime * 1_000 : null,
  };
}

function isSubject(subject: string): boolean {
  return subject !== '' && subject.length <= SUBJECT_LENGTH_MAX && isStorable(subject);
}

function shownText(value: unknown): string | null {
  const text = typeof value === 'string' ? value.trim() : '';
  const isShown = text !== '' && text.length <= TEXT_LENGTH_MAX && isPlainText(text) && isStorable(text);
  return isShown ? text : null;
}

/** Converts errors to OidcError. Their causes contain tokens and claims, so only the codes are passed on. */
async function orOidcError<Result>(work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof OidcError) throw error;
    const unavailable = causeOf(error, ProviderUnavailableError);
    if (unavailable !== null) throw new OidcError('provider_unavailable', unavailable.message);
    const { AuthorizationResponseError } = await loadLibrary();
    if (error instanceof AuthorizationResponseError) {
      throw new OidcError('provider_refused', String(error.error).slice(0, 100));
    }
    const { code, message } = error as { readonly code?: unknown; readonly message?: unknown };
    throw new OidcError('provider_answer_invalid', `${String(message)} ${String(code ?? '')}`.trim().slice(0, 200));
  }
}

function causeOf<Kind extends Error>(error: unknown, kind: new (message: string) => Kind): Kind | null {
  for (let at = error; at instanceof Error; at = at.cause) if (at instanceof kind) return at;
  return null;
}
