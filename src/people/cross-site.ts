export interface RequestOrigin {
  readonly method: string;
  readonly secFetchSite: string | undefined;
  readonly origin: string | undefined;
  readonly host: string | undefined;
}

/**
 * Whether a page of another site caused a request. Browsers attach cookies to such a request, but state its origin in `Sec-Fetch-Site` or,
 * if they are old, in `Origin`. Pages cannot set either header, and programs send neither. `publicUrl`: the gateway's public origin;
 * `null`: the `Host` header is used.
 */
export function isCrossSite({ method, secFetchSite, origin, host }: RequestOrigin, publicUrl: string | null): boolean {
  if (method === 'GET' || method === 'HEAD') return false;
  // `none` means that the user opened the address directly, for example from a bookmark.
  if (secFetchSite !== undefined) return secFetchSite !== 'same-origin' && secFetchSite !== 'none';
  if (origin === undefined || origin === publicUrl) return false;
  // Without the scheme: behind a proxy, the gateway does not know whether the browser uses https.
  return !URL.canParse(origin) || new URL(origin).host !== host?.toLowerCase();
}
