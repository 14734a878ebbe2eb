import type { IncomingMessage } from 'node:http';
import { isSecretToken } from '../../people/secret-token.ts';
import { cookieHeader, readCookie } from './session-cookie.ts';

/** The cookie of a sign-in at an OpenID provider that is under way: the browser that has begun it is the one that completes it. */
const NAME = 'faregate_oidc';

export function readFlowHandle(request: IncomingMessage, isSecure: boolean): string | null {
  return readCookie(request, NAME, isSecure, isSecretToken);
}

/** It is sent when the provider's page sends the browser back, which is a navigation, and not with requests of other sites. */
export function flowCookie(handle: string, isSecure: boolean, maxMs: number): string {
  return cookieHeader(NAME, handle, isSecure, Math.floor(maxMs / 1000));
}

export function endFlowCookie(isSecure: boolean): string {
  return cookieHeader(NAME, '', isSecure, 0);
}
