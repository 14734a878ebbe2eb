export interface RequestOrigin {
  readonly method: string;
  readonly secFetchSite: string | undefined;
  readonly origin: string | undefined;
  readonly host: string | undefined;
}

/**
 * Detects cross-site request forgery. Browsers attach cookies to such requests, but report the origin in `Sec-Fetch-Site` or, in older
 * versions, in `Origin`. Pages cannot set either header, and programs send neither. `publicUrl`: the gateway's public origin; if `null`,
 * the `Host` header is used.
 */
export function isCrossSite({ method, secFetchSite, origin, host }: RequestOrigin, publicUrl: string | null): boolean {
  if (method === 'GET' || method === 'HEAD') return false;
  // `none`: the user opened the address from the address bar or a bookmark.
  if (secFetchSite !== undefined) return secFetchSite !== 'same-origin' && secFetchSite !== 'none';
  if (origin === undefined || origin === publicUrl) return false;
  // The scheme is not compared: behind a proxy, the gateway cannot see whether the browser uses https.
  return !URL.canParse(origin) || new URL(origin).host !== host?.toLowerCase();
}
