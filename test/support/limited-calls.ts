import { plansText, type Terms } from '../plans/coding.ts';
import { type ClientResponse, call } from './client.ts';
import type { TestGateway } from './gateway.ts';
import { chatResponse, messagesResponse, type Respond } from './provider.ts';

/** What tests of the limits of accounts and keys share: a plan beside the balance, and calls of two protocols on both. */

export const CHAT = '/v1/chat/completions';
export const MESSAGES = '/v1/messages';

/** The plan `coder`, which limits nothing that these tests would notice, and others beside it. */
export function coderAnd(others: Readonly<Record<string, Partial<Terms>>> = {}): string {
  return plansText({ coder: { models: ['test-chat', 'test-messages'] }, ...others });
}

const messages = [{ role: 'user', content: 'Hello' }];

/** A request in the protocol of the path. */
export function bodyAt(path: string): object {
  return path.endsWith('messages')
    ? { model: 'test-messages', max_tokens: 10, messages }
    : { model: 'test-chat', messages };
}

/** Responses in the protocol of the path. */
export const responseAnything: Respond = (request, response) =>
  (request.path.endsWith('messages') ? messagesResponse() : chatResponse())(request, response);

export function send(gateway: TestGateway, key: string, path: string, body = bodyAt(path)): Promise<ClientResponse> {
  return call(gateway.url + path, key, body);
}
