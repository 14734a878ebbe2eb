import type { IncomingMessage } from 'node:http';
import type { ClientAddresses } from '../../http/client-address.ts';
import { isSecretToken } from '../../people/secret-token.ts';

/** Browsers accept a cookie with this prefix only over https, for all paths and from exactly this host. */
const SECURE_PREFIX = '__Host-';

/** Whether the client uses https, according to the configuration or to a trusted proxy. */
export function isSecureRequest(
  { headers, socket }: IncomingMessage,
  publicUrl: string | null,
  addresses: Pick<ClientAddresses, 'ofPeer'>,
): boolean {
  if (publicUrl !== null) return publicUrl.startsWith('https:');
  const isBehindProxy = addresses.ofPeer(socket.remoteAddress) === null;
  return isBehindProxy && /^\s*https\s*(,|$)/i.test(String(headers['x-forwarded-proto'] ?? ''));
}

/** Creates a cookie with a secret token. Scripts cannot read it, and browsers do not send it with changes that other sites cause. */
function secretCookie(name: string) {
  function set(value: string, isSecure: boolean, maxMs: number): string {
    const attributes = `Max-Age=${Math.floor(maxMs / 1000)}; Path=/; HttpOnly; SameSite=Lax${isSecure ? '; Secure' : ''}`;
    return `${nameOf(name, isSecure)}=${value}; ${attributes}`;
  }
  return {
    /**
     * Returns the token; `null` if it is absent or malformed. The cookie name of the other scheme is ignored, because a neighboring host may have set
     * a cookie over http.
     */
    read({ headers }: IncomingMessage, isSecure: boolean): string | null {
      const wanted = `${nameOf(name, isSecure)}=`;
      const values = (headers.cookie ?? '').split(';').map((cookie) => cookie.trim());
      const found = values.find((cookie) => cookie.startsWith(wanted) && isSecretToken(cookie.slice(wanted.length)));
      return found?.slice(wanted.length) ?? null;
    },
    set,
    /** Returns a `Set-Cookie` header that deletes the cookie. */
    end: (isSecure: boolean): string => set('', isSecure, 0),
  };
}

export const sessionCookie = secretCookie('faregate_session');

/**
 * Identifies the browser that began a pending OpenID sign-in. With `SameSite=Lax`, browsers send it after the provider's redirect, because this is a
 * top-level navigation.
 */
export const flowCookie = secretCookie('faregate_oidc');

function nameOf(name: string, isSecure: boolean): string {
  return isSecure ? SECURE_PREFIX + name : name;
}
