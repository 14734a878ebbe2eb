import { json, type Respond } from './provider.ts';
import { chatRefusal, type StrictChat } from './strict-chat.ts';
import { messagesRefusal, type StrictMessages } from './strict-messages.ts';

/** What a strict provider accepts at each of its addresses. */
export interface Strictness {
  readonly chat: StrictChat;
  readonly messages: StrictMessages;
}

/** Responds only to requests that a vendor would accept; refuses others in the vendor's words. */
export function strict({ chat, messages }: Strictness, respond: Respond): Respond {
  return (request, response) => {
    const body: unknown = JSON.parse(request.body.toString('utf8'));
    const isMessages = request.path.endsWith('/messages');
    const words = isMessages ? messagesRefusal(body, messages) : chatRefusal(body, chat);
    if (words === null) return respond(request, response);
    const error = { type: 'invalid_request_error', message: words };
    const refused = isMessages ? { type: 'error', error } : { error: { ...error, param: null, code: null } };
    return json(400, refused)(request, response);
  };
}
