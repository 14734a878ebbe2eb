import type { GatewayError } from './gateway-error.ts';

/** The headers that every error answer carries: its code, its retry advice, and what the error itself brings. */
export function errorHeaders(error: GatewayError): Record<string, string> {
  const headers: Record<string, string> = { ...error.headers, 'x-error-code': error.code };
  if (error.retry !== 'unsaid') headers['x-should-retry'] = error.retry === 'yes' ? 'true' : 'false';
  return headers;
}
