import type { IncomingMessage } from 'node:http';
import type { ClientAddresses } from '../../http/client-address.ts';
import { isSecretToken } from '../../people/secret-token.ts';

/** Browsers take a cookie of this prefix only over https, for all paths, and from the very host, not from a neighbour of it. */
const SECURE_PREFIX = '__Host-';

/**
 * Whether people reach the gateway by https: as the configuration says, or as a trusted proxy says of the request.
 */
export function isSecureRequest(
  { headers, socket }: IncomingMessage,
  publicUrl: string | null,
  addresses: Pick<ClientAddresses, 'ofPeer'>,
): boolean {
  if (publicUrl !== null) return publicUrl.startsWith('https:');
  const isBehindProxy = addresses.ofPeer(socket.remoteAddress) === null;
  return isBehindProxy && /^\s*https\s*(,|$)/i.test(String(headers['x-forwarded-proto'] ?? ''));
}

/** A cookie of ours whose value is a secret token. Scripts cannot read it, and pages of other sites do not send it with changes. */
function secretCookie(name: string) {
  /** A `Set-Cookie`. */
  function set(value: string, isSecure: boolean, maxMs: number): string {
    const attributes = `Max-Age=${Math.floor(maxMs / 1000)}; Path=/; HttpOnly; SameSite=Lax${isSecure ? '; Secure' : ''}`;
    return `${nameOf(name, isSecure)}=${value}; ${attributes}`;
  }
  return {
    /**
     * The value; `null` if there is none that is possible. Only the name that goes with the connection counts: a plain cookie may
     * have been set by a neighbouring host.
     */
    read({ headers }: IncomingMessage, isSecure: boolean): string | null {
      const wanted = `${nameOf(name, isSecure)}=`;
      const values = (headers.cookie ?? '').split(';').map((cookie) => cookie.trim());
      const found = values.find((cookie) => cookie.startsWith(wanted) && isSecretToken(cookie.slice(wanted.length)));
      return found?.slice(wanted.length) ?? null;
    },
    set,
    /** A `Set-Cookie` that removes it. */
    end: (isSecure: boolean): string => set('', isSecure, 0),
  };
}

export const sessionCookie = secretCookie('faregate_session');

/**
 * Of a sign-in at an OpenID provider that is under way: the browser that has begun it is the one that completes it. It is sent when the
 * provider's page sends the browser back, which is a navigation.
 */
export const flowCookie = secretCookie('faregate_oidc');

function nameOf(name: string, isSecure: boolean): string {
  return isSecure ? SECURE_PREFIX + name : name;
}
