import type { Attack } from '../attack.ts';
import { ADMIN_TOKEN } from '../scene/gateway.ts';

/** Attempts to exceed the permissions of a token, by permission. */
export const givenAway: Attack = {
  name: 'given-away',
  sends: 'an operator’s token that makes operators, their links and tokens for exports, and a person who outlives it',
  seconds: 2,
  callers: { owner: {} },
  async run(scene) {
    const token = await scene.admin<{ id: string; token: string }>('POST', '/tokens', {
      name: 'stolen',
      role: 'operator',
    });
    const send = (key: string, method: string, path: string, body: object = {}) =>
      scene.send({ method, path: `/admin/v1${path}`, key, body });
    const memberships = [{ accountId: scene.accounts('owner')[0]!.id, role: 'owner' }];
    const person = await send(token.token, 'POST', '/users', { name: 'accomplice', memberships });
    const { id, link } = JSON.parse(person.text) as { id: string; link: string };
    const secret = /token=([^&\s]+)/.exec(link)![1];
    const used = await scene.send({
      method: 'POST',
      path: '/account/v1/links/use',
      body: { token: secret, password: 'the password of an accomplice' },
    });
    const cookie = String(used.headers['set-cookie']).split(';')[0]!;
    const child = await send(token.token, 'POST', '/tokens', { name: 'child', role: 'operator' });
    for (const key of [token.token, ADMIN_TOKEN]) {
      for (const [method, path, body] of [
        ['POST', '/users', { name: 'mallory', operatorRole: 'operator' }],
        ['PATCH', `/users/${id}`, { operatorRole: 'operator' }],
        ['PATCH', `/users/${id}`, { operatorRole: 'auditor' }],
        ['POST', '/tokens', { name: 'mallory', scopes: ['export'] }],
        ['POST', `/users/${id}/confirm`, {}],
        ['POST', '/export', {}],
      ] as const) {
        scene.expectStatus(`${method} ${path} with a token`, await send(key, method, path, body), 403);
      }
    }
    await scene.admin('DELETE', `/tokens/${token.id}`);
    const session = await scene.send({ method: 'GET', path: '/account/v1/session', headers: { cookie } });
    scene.expectStatus('the session of a person whom a revoked token made', session, 401);
    const made = (JSON.parse(child.text) as { token: string }).token;
    scene.expectStatus('a token that a revoked one made', await send(made, 'POST', '/accounts', { name: 'x' }), 401);
  },
};
