import type { IncomingMessage } from 'node:http';
import { GatewayError } from '../../errors/gateway-error.ts';
import type { ClientAddresses } from '../../http/client-address.ts';
import type { Clock } from '../../lib/clock.ts';
import { isCrossSite } from '../../people/cross-site.ts';
import { hashSecretToken } from '../../people/secret-token.ts';
import type { SessionStore } from '../../people/session-store.ts';
import type { CredentialReader } from '../management/guard.ts';
import { isSecureRequest, sessionCookie } from './session-cookie.ts';

interface SessionReaderDependencies {
  readonly sessions: Pick<SessionStore, 'read'>;
  readonly publicUrl: () => string | null;
  readonly addresses: ClientAddresses;
  readonly clock: Clock;
}

/** Finds the user of a session. If the request has a token or key, its cookie is ignored. */
export function createSessionReader({
  sessions,
  publicUrl,
  addresses,
  clock,
}: SessionReaderDependencies): CredentialReader {
  return async ({ request, bearer }) => {
    if (bearer !== null) return null;
    const token = sessionCookie.read(request.raw, isSecureRequest(request.raw, publicUrl(), addresses));
    if (token === null) return null;
    requireSameSite(request.raw, publicUrl());
    return sessions.read(hashSecretToken(token), clock.nowMs());
  };
}

/** Refuses changes that a page of another site may have caused. @throws GatewayError `roleNotAllowed` */
export function requireSameSite({ method = '', headers }: IncomingMessage, publicUrl: string | null): void {
  const { origin, host } = headers;
  const site = headers['sec-fetch-site'];
  const request = { method, secFetchSite: site === undefined ? undefined : String(site), origin, host };
  if (!isCrossSite(request, publicUrl)) return;
  throw new GatewayError('roleNotAllowed', {
    message: 'This request came from a page of another site. Changes are accepted only from pages of this gateway.',
  });
}
