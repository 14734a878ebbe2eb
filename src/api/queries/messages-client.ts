import type { IncomingHttpHeaders } from 'node:http';

/** The vendor's own clients send this name, even if the configuration has another one. */
const VENDOR_NAME = 'anthropic';

/** At a shared address, chat clients may send the key in both headers, but they never send a version. */
export function isMessagesClient(headers: IncomingHttpHeaders, messagesNames: readonly string[]): boolean {
  const hasKeyOfMessages = headers['x-api-key'] !== undefined && headers.authorization === undefined;
  return hasKeyOfMessages || messagesVersion(headers, messagesNames) !== null;
}

/** See contract 9. */
export function messagesVersion(headers: IncomingHttpHeaders, messagesNames: readonly string[]): string | null {
  for (const name of [...messagesNames, VENDOR_NAME]) {
    const version = headers[`${name}-version`];
    if (typeof version === 'string') return version;
  }
  return null;
}
