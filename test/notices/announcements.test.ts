import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { createTestClock, type TestClock } from '../support/clock.ts';
import { startGateway, type TestGateway } from '../support/gateway.ts';
import { ask, createPerson } from '../support/people.ts';

const START = '2026-11-20T12:00:00.000Z';

describe('announcements', () => {
  let server: TestGateway;
  let clock: TestClock;
  before(async () => {
    clock = createTestClock(START);
    server = await startGateway({ clock });
  });
  after(async () => {
    await server?.stop();
  });

  const create = (body: object) => server.admin('POST', '/announcements', { endsAt: '2026-11-20T13:00:00Z', ...body });

  /** Returns the English texts that people see before and after sign-in. */
  async function shown(headers: Record<string, string>): Promise<{ before: string[]; after: string[] }> {
    const textsOf = (body: { announcements: { textEn: string }[] }) =>
      body.announcements.map(({ textEn }) => textEn).toSorted();
    const [outside, inside] = await Promise.all([
      ask(server, 'GET', '/oidc', undefined, { 'sec-fetch-site': 'same-origin' }),
      ask(server, 'GET', '/session', undefined, headers),
    ]);
    return { before: textsOf(outside.body), after: textsOf(inside.body) };
  }

  it('are shown from their start to their end, to their audience, and not after they are deleted', async () => {
    const { id: accountId } = await server.createAccount();
    const { headers } = await createPerson(server, { name: 'Ada', memberships: [{ accountId, role: 'member' }] });
    await create({ textEn: 'Now' });
    const later = await create({
      textEn: 'Later',
      audience: 'everyone',
      startsAt: '2026-11-20T12:30:00Z',
      endsAt: '2026-11-20T14:00:00Z',
    });
    assert.equal(later.status, 201);
    assert.deepEqual(await shown(headers), { before: [], after: ['Now'] });
    clock.set('2026-11-20T12:30:00Z');
    assert.deepEqual(await shown(headers), { before: ['Later'], after: ['Later', 'Now'] });
    clock.set('2026-11-20T13:00:00Z');
    assert.deepEqual(await shown(headers), { before: ['Later'], after: ['Later'] });
    const changed = await server.admin('PATCH', `/announcements/${later.body.id}`, {
      textEn: 'Soon',
      level: 'warning',
    });
    assert.deepEqual(
      [changed.body.textEn, changed.body.level, changed.body.startsAt],
      ['Soon', 'warning', '2026-11-20T12:30:00.000Z'],
    );
    assert.deepEqual((await shown(headers)).after, ['Soon']);
    assert.equal((await server.admin('DELETE', `/announcements/${later.body.id}`)).status, 204);
    assert.deepEqual(await shown(headers), { before: [], after: [] });
    const { body } = await server.admin('GET', '/announcements');
    assert.deepEqual(
      body.data.map(({ textEn }: { textEn: string }) => textEn),
      ['Now'],
    );
  });

  for (const [what, status, body] of [
    ['without a text', 422, {}],
    ['that ends before it begins', 422, { textEn: 'x', startsAt: '2026-11-20T13:00:00Z' }],
    ['with markup of text direction', 400, { textZh: 'a\u202eb' }],
    ['with too long a text', 400, { textEn: 'x'.repeat(501) }],
    ['for somebody else', 400, { textEn: 'x', audience: 'operators' }],
  ] as const) {
    it(`${what} are refused`, async () => assert.equal((await create(body)).status, status));
  }

  it('that do not exist are 404', async () => {
    assert.equal((await server.admin('PATCH', '/announcements/ann_0', { level: 'info' })).status, 404);
    assert.equal((await server.admin('DELETE', '/announcements/ann_0')).status, 404);
  });

  it('are at most 20 that have not ended', async () => {
    clock.set('2026-12-01T00:00:00Z');
    const soon = { textZh: '维护', endsAt: '2026-12-01T01:00:00Z' };
    for (let made = 0; made < 20; made++) assert.equal((await create(soon)).status, 201);
    assert.equal((await create(soon)).status, 409);
    clock.set('2026-12-01T01:00:00Z');
    const later = { ...soon, endsAt: '2026-12-02T00:00:00Z' };
    assert.equal((await create(later)).status, 201);
    // 90 days after their end, the others are gone.
    clock.set('2027-03-02T00:00:00Z');
    await create({ ...soon, endsAt: '2027-03-03T00:00:00Z' });
    assert.equal((await server.admin('GET', '/announcements')).body.data.length, 2);
  });
});
