/** Headers that reveal the origin of a browser's request. */
export interface RequestOrigin {
  readonly method: string;
  readonly secFetchSite: string | undefined;
  readonly origin: string | undefined;
  readonly host: string | undefined;
}

/**
 * Whether a page of another site may have caused a browser to send this change (CSRF). Browsers attach cookies to these requests but report
 * their origin in `Sec-Fetch-Site`, or older ones in `Origin`; pages cannot set either. Programs send neither header.
 *
 * @param publicUrl the gateway's public origin; `null` if not configured, then the `Host` header decides.
 */
export function isCrossSite({ method, secFetchSite, origin, host }: RequestOrigin, publicUrl: string | null): boolean {
  if (method === 'GET' || method === 'HEAD') return false;
  // `none`: the user opened the address directly, from the address bar or a bookmark.
  if (secFetchSite !== undefined) return secFetchSite !== 'same-origin' && secFetchSite !== 'none';
  if (origin === undefined || origin === publicUrl) return false;
  // Behind a proxy the gateway cannot see whether the browser uses https, so the scheme is not compared.
  return !URL.canParse(origin) || new URL(origin).host !== host?.toLowerCase();
}
