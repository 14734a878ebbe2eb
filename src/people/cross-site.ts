/** The headers by which a browser says where a request comes from. */
export interface RequestOrigin {
  readonly method: string;
  readonly secFetchSite: string | undefined;
  readonly origin: string | undefined;
  readonly host: string | undefined;
}

/**
 * Whether a browser may have been made to send a change by the page of another site. Browsers add cookies to such requests, and
 * say so: in `Sec-Fetch-Site`, or the older ones in `Origin`, which a page cannot set. A program says neither.
 *
 * @param publicUrl the origin that people reach the gateway at; `null` if it is not configured, and the host decides.
 */
export function isCrossSite({ method, secFetchSite, origin, host }: RequestOrigin, publicUrl: string | null): boolean {
  if (method === 'GET' || method === 'HEAD') return false;
  // `none`: the person did it, by the address bar or a bookmark.
  if (secFetchSite !== undefined) return secFetchSite !== 'same-origin' && secFetchSite !== 'none';
  if (origin === undefined || origin === publicUrl) return false;
  // Behind a proxy the gateway does not see whether people use https, so the scheme is not compared.
  return !URL.canParse(origin) || new URL(origin).host !== host?.toLowerCase();
}
