import { adminEnvelope, type Envelope } from '../../errors/envelopes.ts';
import { chatEnvelope } from '../../protocols/chat/errors.ts';
import { messagesEnvelope } from '../../protocols/messages/errors.ts';

/** The envelope of an address without an endpoint: that of the protocol family whose paths it resembles. */
export function envelopeOfUnknown(path: string, messagesNames: readonly string[]): Envelope {
  const clean = path.replace(/^\/+/, '/');
  if (clean.startsWith('/admin/')) return adminEnvelope;
  const isMessages = clean.startsWith('/v1/messages') || messagesNames.some((name) => clean.includes(`/${name}/`));
  return isMessages ? messagesEnvelope : chatEnvelope;
}
