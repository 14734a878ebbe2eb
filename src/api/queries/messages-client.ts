import type { IncomingHttpHeaders } from 'node:http';

/** The vendor's own clients send this name, whatever the configuration calls the protocol. */
const VENDOR_NAME = 'anthropic';

/** At an address that several families share: chat clients may send the key in both headers, but never a version. */
export function isMessagesClient(headers: IncomingHttpHeaders, messagesNames: readonly string[]): boolean {
  const hasKeyOfMessages = headers['x-api-key'] !== undefined && headers.authorization === undefined;
  return hasKeyOfMessages || messagesVersion(headers, messagesNames) !== null;
}

/** The requested version of the messages protocol (contract 9). */
export function messagesVersion(headers: IncomingHttpHeaders, messagesNames: readonly string[]): string | null {
  for (const name of [...messagesNames, VENDOR_NAME]) {
    const version = headers[`${name}-version`];
    if (typeof version === 'string') return version;
  }
  return null;
}
