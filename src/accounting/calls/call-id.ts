const REQUEST = 'req_';

/**
 * The id of the call that a request makes: the same id with another prefix, so that a call is found by the request id of the
 * gateway, although its record has that of the provider. A request makes one call at most.
 */
export function callIdOf(requestId: string): string {
  return `call_${requestId.startsWith(REQUEST) ? requestId.slice(REQUEST.length) : requestId}`;
}
