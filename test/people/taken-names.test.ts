import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { startGateway, type TestGateway } from '../support/gateway.ts';
import { ask, createPerson, signIn, type TestPerson, tokenOf } from '../support/people.ts';

/** Allowed failures of a network at once, and the interval until the next one. */
const BURST = 20;
const EVERY_MS = 3_000;

describe('a sign-in name that is taken', { timeout: 120_000 }, () => {
  let nowMs = 0;
  let g: TestGateway;
  let known: TestPerson;
  before(async () => {
    g = await startGateway({ monotonicMs: () => nowMs });
    known = await createPerson(g);
    await g.admin('POST', '/users', { name: 'Known' });
  });
  after(() => g.stop());

  it('is reported a limited number of times by an invitation, which stays valid, while others sign in', async () => {
    const account = await g.createAccount();
    const owner = await createPerson(g, { memberships: [{ accountId: account.id, role: 'owner' }] });
    const invited = await ask(g, 'POST', '/invitations', { role: 'member' }, owner.headers);
    const token = tokenOf(invited.body.link);
    const use = async (name: string) =>
      (await ask(g, 'POST', '/links/use', { token, name, password: 'a long enough password' })).status;
    const tried = await Promise.all(Array.from({ length: BURST + 5 }, () => use('Known')));
    assert.equal(tried.filter((status) => status === 409).length, BURST);
    assert.equal(tried.filter((status) => status === 429).length, 5);
    await signIn(g, known);
    nowMs += EVERY_MS;
    assert.equal(await use('Somebody new'), 201);
  });

  it('is reported a limited number of times to a user who wants it', async () => {
    nowMs += BURST * EVERY_MS;
    const person = await createPerson(g);
    const change = (email: string) =>
      ask(g, 'PATCH', '/user', { email, currentPassword: person.password }, person.headers);
    for (let tried = 0; tried < BURST; tried++) assert.equal((await change(known.email)).status, 409);
    const refused = await change(known.email);
    assert.deepEqual([refused.status, refused.body.error.code], [429, 'too_many_attempts']);
    nowMs += EVERY_MS;
    assert.equal((await change('free-of-others@people.example')).status, 200);
    assert.equal((await change('free-of-others-too@people.example')).status, 200);
  });
});
