import { plansText, type Terms } from '../plans/coding.ts';
import { type ClientResponse, call } from './client.ts';
import type { TestGateway } from './gateway.ts';
import { chatResponse, messagesResponse, type Respond } from './provider.ts';

/** Helpers for tests of limits of accounts and keys: a plan in addition to the balance, and calls of two protocols on both. */

export const CHAT = '/v1/chat/completions';
export const MESSAGES = '/v1/messages';

/** The plan `coder`, whose limits these tests never reach, and others. */
export function coderAnd(others: Readonly<Record<string, Partial<Terms>>> = {}): string {
  return plansText({ coder: { models: ['test-chat', 'test-messages'] }, ...others });
}

const messages = [{ role: 'user', content: 'Hello' }];

export function bodyAt(path: string): object {
  return path.endsWith('messages')
    ? { model: 'test-messages', max_tokens: 10, messages }
    : { model: 'test-chat', messages };
}

export const responseAnything: Respond = (request, response) =>
  (request.path.endsWith('messages') ? messagesResponse() : chatResponse())(request, response);

export function send(gateway: TestGateway, key: string, path: string, body = bodyAt(path)): Promise<ClientResponse> {
  return call(gateway.url + path, key, body);
}
