import type { IncomingHttpHeaders } from 'node:http';

/** The vendor name in the headers of the vendor's own clients, whatever the protocol is called in the configuration. */
const VENDOR_NAME = 'anthropic';

/** Whether a client is of the messages family, at a shared address. Chat clients may send the key in both headers, but send no version. */
export function isMessagesClient(headers: IncomingHttpHeaders, messagesNames: readonly string[]): boolean {
  const hasKeyOfMessages = headers['x-api-key'] !== undefined && headers.authorization === undefined;
  return hasKeyOfMessages || messagesVersion(headers, messagesNames) !== null;
}

/** The requested version of the messages protocol (contract 9); `null` if there is none. */
export function messagesVersion(headers: IncomingHttpHeaders, messagesNames: readonly string[]): string | null {
  for (const name of [...messagesNames, VENDOR_NAME]) {
    const version = headers[`${name}-version`];
    if (typeof version === 'string') return version;
  }
  return null;
}
