import type { AdminClient } from '../../support/admin-client.ts';

/** A signed-in person with an account. */
export interface Person {
  readonly email: string;
  readonly password: string;
  /** Headers of requests in the session. */
  readonly headers: Readonly<Record<string, string>>;
}

/** The owner of the account, signed in through an operator's link. */
export async function createPerson(admin: AdminClient, url: string, name: string, accountId: string): Promise<Person> {
  const email = `${name}@people.example`;
  const memberships = [{ accountId, role: 'owner' }];
  const { link } = await admin<{ link: string }>('POST', '/users', { name, email, memberships });
  const password = `the password of ${name}`;
  const used = await fetch(`${url}/account/v1/links/use`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'sec-fetch-site': 'same-origin' },
    body: JSON.stringify({ token: /token=([^&\s]+)/.exec(link)![1], password }),
  });
  const cookie = used.headers.get('set-cookie')?.split(';')[0];
  if (used.status !== 201 || cookie === undefined) throw new Error(`${name} could not sign in: ${used.status}`);
  return { email, password, headers: { cookie, 'sec-fetch-site': 'same-origin' } };
}
