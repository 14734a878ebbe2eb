import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import type { AccountRole, OperatorRole } from '../../src/people/actor.ts';
import type { TestGateway } from './gateway.ts';

/** A person who is signed in. */
export interface TestPerson {
  readonly id: string;
  readonly email: string;
  readonly password: string;
  /** Headers of the session that began with the person's link. */
  readonly headers: PersonHeaders;
}

/** Headers of a request in a session: the cookie, and what browsers send from a page of the same origin. */
export type PersonHeaders = Record<'cookie' | 'sec-fetch-site', string>;

export interface PersonResponse {
  readonly status: number;
  readonly headers: Headers;
  // biome-ignore lint/suspicious/noExplicitAny: tests read what they expect to be there
  readonly body: any;
}

/** Sends a request to the account API, or to the admin API if the path is one of its. */
export async function ask(
  g: Pick<TestGateway, 'url'>,
  method: string,
  path: string,
  body?: object,
  headers: Record<string, string> = {},
): Promise<PersonResponse> {
  const response = await fetch(g.url + (path.startsWith('/admin/') ? path : `/account/v1${path}`), {
    method,
    headers: { ...(body === undefined ? {} : { 'content-type': 'application/json' }), ...headers },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  return { status: response.status, headers: response.headers, body: text === '' ? null : JSON.parse(text) };
}

/**
 * Creates a person through the local admin token, which alone can create the first operator. The person has used the link and is signed
 * in.
 */
export async function createPerson(
  g: Pick<TestGateway, 'url' | 'admin' | 'localToken'>,
  {
    name = 'Lin',
    operatorRole,
    memberships = [],
  }: {
    readonly name?: string;
    readonly operatorRole?: OperatorRole;
    readonly memberships?: readonly { readonly accountId: string; readonly role: AccountRole }[];
  } = {},
): Promise<TestPerson> {
  const email = `${randomBytes(6).toString('hex')}@people.example`;
  const authorization = `Bearer ${g.localToken}`;
  const made = await g.admin('POST', '/users', { name, email, operatorRole, memberships }, { authorization });
  assert.equal(made.status, 201, JSON.stringify(made.body));
  const password = `password of ${email} `;
  const used = await ask(g, 'POST', '/links/use', { token: tokenOf(made.body.link), password });
  assert.equal(used.status, 201, JSON.stringify(used.body));
  return { id: made.body.id, email, password, headers: sessionOf(used) };
}

/** Signs a person in again. */
export async function signIn(
  g: Pick<TestGateway, 'url'>,
  { email, password }: Pick<TestPerson, 'email' | 'password'>,
): Promise<PersonHeaders> {
  const response = await ask(g, 'POST', '/sessions', { user: email, password });
  assert.equal(response.status, 201, JSON.stringify(response.body));
  return sessionOf(response);
}

/** Request headers of the session that a response started. */
export function sessionOf({ headers }: Pick<PersonResponse, 'headers'>): PersonHeaders {
  const cookie = headers.getSetCookie()[0]?.split(';')[0];
  assert.ok(cookie, 'the response sets no cookie');
  return { cookie, 'sec-fetch-site': 'same-origin' };
}

/** The token in the fragment of a link. */
export function tokenOf(link: string): string {
  const token = new URL(link).hash.split('token=')[1];
  assert.ok(token, link);
  return token;
}
