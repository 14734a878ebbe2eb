import type { IncomingMessage } from 'node:http';
import type { ClientAddresses } from '../../http/client-address.ts';
import { isSecretToken } from '../../people/secret-token.ts';

/** Browsers accept a cookie with this prefix only over https, for all paths, and from exactly this host. */
const SECURE_PREFIX = '__Host-';

/** Whether a request came over https, by the configuration or a trusted proxy. */
export function isSecureRequest(
  { headers, socket }: IncomingMessage,
  publicUrl: string | null,
  addresses: Pick<ClientAddresses, 'ofPeer'>,
): boolean {
  if (publicUrl !== null) return publicUrl.startsWith('https:');
  const isBehindProxy = addresses.ofPeer(socket.remoteAddress) === null;
  return isBehindProxy && /^\s*https\s*(,|$)/i.test(String(headers['x-forwarded-proto'] ?? ''));
}

/** A cookie that scripts cannot read, and that browsers do not send with changes that other sites cause. */
function secretCookie(name: string) {
  function set(value: string, isSecure: boolean, maxMs: number): string {
    const attributes = `Max-Age=${Math.floor(maxMs / 1000)}; Path=/; HttpOnly; SameSite=Lax${isSecure ? '; Secure' : ''}`;
    return `${nameOf(name, isSecure)}=${value}; ${attributes}`;
  }
  return {
    /** Reads the cookie. That of the other scheme is ignored: a neighboring host may have set it over http. */
    read({ headers }: IncomingMessage, isSecure: boolean): string | null {
      const wanted = `${nameOf(name, isSecure)}=`;
      const values = (headers.cookie ?? '').split(';').map((cookie) => cookie.trim());
      const found = values.find((cookie) => cookie.startsWith(wanted) && isSecretToken(cookie.slice(wanted.length)));
      return found?.slice(wanted.length) ?? null;
    },
    set,
    end: (isSecure: boolean): string => set('', isSecure, 0),
  };
}

export const sessionCookie = secretCookie('faregate_session');

/** Cookie of a pending sign-in. Browsers send it with the provider's redirect, because `SameSite=Lax` allows top-level navigation. */
export const flowCookie = secretCookie('faregate_oidc');

function nameOf(name: string, isSecure: boolean): string {
  return isSecure ? SECURE_PREFIX + name : name;
}
