import assert from 'node:assert/strict';

// biome-ignore lint/suspicious/noExplicitAny: tests read what they expect to be there
export type AdminClient = <Body = any>(method: string, path: string, body?: object) => Promise<Body>;

/** Calls the admin API and returns the body. Fails the test if the response is not a success. */
export function adminClient(url: string, token: string): AdminClient {
  return async (method, path, body) => {
    const response = await fetch(`${url}/admin/v1${path}`, {
      method,
      headers: {
        authorization: `Bearer ${token}`,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    assert.ok(response.ok, `${method} ${path}: ${response.status} ${text}`);
    return text === '' ? null : JSON.parse(text);
  };
}
