/** Headers that reveal the origin of a browser's request. */
export interface RequestOrigin {
  readonly method: string;
  readonly secFetchSite: string | undefined;
  readonly origin: string | undefined;
  readonly host: string | undefined;
}

/**
 * Whether a page of another site may have caused a browser to send this change (CSRF). Browsers attach cookies to such requests, but report their
 * origin in `Sec-Fetch-Site` or, in older versions, in `Origin`. Pages cannot set either header, and programs send neither.
 *
 * @param publicUrl the gateway's public origin; `null` if it is not configured. The `Host` header is then used.
 */
export function isCrossSite({ method, secFetchSite, origin, host }: RequestOrigin, publicUrl: string | null): boolean {
  if (method === 'GET' || method === 'HEAD') return false;
  // `none`: the user opened the address directly, from the address bar or a bookmark.
  if (secFetchSite !== undefined) return secFetchSite !== 'same-origin' && secFetchSite !== 'none';
  if (origin === undefined || origin === publicUrl) return false;
  // The scheme is not compared, because the gateway cannot see behind a proxy whether the browser uses https.
  return !URL.canParse(origin) || new URL(origin).host !== host?.toLowerCase();
}
