import type { IncomingHttpHeaders } from 'node:http';

/** The vendor name in the headers of the vendor's own clients, whatever the name of the protocol in the configuration. */
const VENDOR_NAME = 'anthropic';

/**
 * Whether a client at an address that several families share belongs to the messages family. Clients of the chat family may send the key in both
 * headers, but never send a version.
 */
export function isMessagesClient(headers: IncomingHttpHeaders, messagesNames: readonly string[]): boolean {
  const hasKeyOfMessages = headers['x-api-key'] !== undefined && headers.authorization === undefined;
  return hasKeyOfMessages || messagesVersion(headers, messagesNames) !== null;
}

/** Returns the requested version of the messages protocol (contract 9); `null` if there is none. */
export function messagesVersion(headers: IncomingHttpHeaders, messagesNames: readonly string[]): string | null {
  for (const name of [...messagesNames, VENDOR_NAME]) {
    const version = headers[`${name}-version`];
    if (typeof version === 'string') return version;
  }
  return null;
}
