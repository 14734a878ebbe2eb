import type { IncomingHttpHeaders } from 'node:http';

/** The name that the vendor's own clients put into their headers, whatever the gateway calls the protocol. */
const VENDOR_NAME = 'anthropic';

/**
 * Whether a request comes from a client of the messages family, at an address that does not show it. Clients of the chat
 * family may send the key in both headers, but name no version.
 */
export function isMessagesClient(headers: IncomingHttpHeaders, messagesNames: readonly string[]): boolean {
  const hasKeyOfMessages = headers['x-api-key'] !== undefined && headers.authorization === undefined;
  return hasKeyOfMessages || messagesVersion(headers, messagesNames) !== null;
}

/** The version of the messages protocol that a request asks for (contract 9); `null` if it names none. */
export function messagesVersion(headers: IncomingHttpHeaders, messagesNames: readonly string[]): string | null {
  for (const name of [...messagesNames, VENDOR_NAME]) {
    const version = headers[`${name}-version`];
    if (typeof version === 'string') return version;
  }
  return null;
}
