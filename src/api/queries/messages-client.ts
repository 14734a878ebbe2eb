import type { IncomingHttpHeaders } from 'node:http';

/** The protocol's name that clients of the vendor send, even if it is configured with another one. */
const VENDOR_NAME = 'anthropic';

/** Whether a request at a shared address is from a messages client. Chat clients may send the key in both headers, but never a version. */
export function isMessagesClient(headers: IncomingHttpHeaders, messagesNames: readonly string[]): boolean {
  const hasKeyOfMessages = headers['x-api-key'] !== undefined && headers.authorization === undefined;
  return hasKeyOfMessages || messagesVersion(headers, messagesNames) !== null;
}

/** Returns the version that the client asks for (contract 9); `null`: none. */
export function messagesVersion(headers: IncomingHttpHeaders, messagesNames: readonly string[]): string | null {
  for (const name of [...messagesNames, VENDOR_NAME]) {
    const version = headers[`${name}-version`];
    if (typeof version === 'string') return version;
  }
  return null;
}
