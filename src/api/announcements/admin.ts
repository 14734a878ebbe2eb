import { z } from 'zod';
import type { Clock } from '../../lib/clock.ts';
import type { Ids } from '../../lib/ids.ts';
import { isPlainText } from '../../lib/plain-text.ts';
import type { AnnouncementsInForce } from '../../notices/announcements/announcements-in-force.ts';
import {
  ANNOUNCEMENTS_MAX,
  type AnnouncementsStore,
  type AnnouncementTerms,
} from '../../notices/announcements/announcements-store.ts';
import { signatureOf } from '../../people/actor.ts';
import { type AdminEndpoint, adminEndpoint } from '../management/admin-endpoint.ts';
import { type ChangeSubject, conflict, notFound, orNotFound, unprocessable } from '../management/endpoint.ts';
import { storable } from '../management/storable.ts';
import { instant } from '../management/wire.ts';
import {
  announcementAudience,
  announcementLevel,
  announcementList,
  announcementResponse,
  announcementToWire,
} from './wire.ts';

interface AnnouncementAdminDependencies {
  readonly announcements: AnnouncementsStore;
  readonly announcementsInForce: Pick<AnnouncementsInForce, 'forget'>;
  readonly clock: Clock;
  readonly ids: Ids;
}

const TEXT_LENGTH_MAX = 500;

const announcementText = storable(z.string({ error: 'Expected text.' }))
  .trim()
  .pipe(
    z
      .string()
      .min(1, 'Must not be empty.')
      .max(TEXT_LENGTH_MAX, `At most ${TEXT_LENGTH_MAX} characters.`)
      .refine(isPlainText, 'Must not contain control characters or bidirectional marks.'),
  );

const newAnnouncement = z
  .strictObject({
    textEn: announcementText.nullish(),
    textZh: announcementText.nullish(),
    level: announcementLevel.default('info'),
    audience: announcementAudience.default('signed_in'),
    startsAt: instant.nullish().describe('Default: now.'),
    endsAt: instant,
  })
  .meta({ examples: [{ textEn: 'Maintenance on Sunday, 02:00 to 03:00.', endsAt: '2026-12-06T19:00:00Z' }] });

const announcementChange = z.strictObject({
  textEn: announcementText.nullish(),
  textZh: announcementText.nullish(),
  level: announcementLevel.optional(),
  audience: announcementAudience.optional(),
  startsAt: instant.optional(),
  endsAt: instant.optional(),
});

export function announcementEndpoints(dependencies: AnnouncementAdminDependencies): AdminEndpoint[] {
  const { announcements, announcementsInForce, clock, ids } = dependencies;
  const subject: ChangeSubject = {
    kind: 'announcement',
    async read(id) {
      const found = await announcements.find(id);
      return found && announcementToWire(found);
    },
  };

  return [
    adminEndpoint({
      method: 'POST',
      path: '/announcements',
      status: 201,
      summary: 'Create an announcement, which the console shows from its start to its end',
      body: newAnnouncement,
      response: announcementResponse,
      async run({ body }, { actor }) {
        const { textEn = null, textZh = null, level, audience, startsAt, endsAt } = body;
        const now = new Date(clock.nowMs());
        const terms = checked({ textEn, textZh, level, audience, startsAt: startsAt ?? now, endsAt });
        const made = await announcements.insert({
          ...terms,
          id: ids.next('ann'),
          createdAt: now,
          createdBy: signatureOf(actor),
        });
        announcementsInForce.forget();
        if (made === null) {
          throw conflict(
            `There are ${ANNOUNCEMENTS_MAX} announcements that have not ended, which is the limit. Delete one first.`,
          );
        }
        return announcementToWire(made);
      },
    }),
    adminEndpoint({
      method: 'GET',
      path: '/announcements',
      summary: 'List announcements, newest first, also those that ended in the last 90 days',
      response: announcementList,
      run: async () => ({ data: (await announcements.list()).map(announcementToWire) }),
    }),
    adminEndpoint({
      method: 'PATCH',
      path: '/announcements/:id',
      subject,
      summary: 'Change an announcement',
      body: announcementChange,
      response: announcementResponse,
      async run({ id, body }) {
        const {
          id: _id,
          createdAt: _at,
          createdBy: _by,
          ...before
        } = orNotFound(await announcements.find(id), 'announcement', id);
        const given = Object.fromEntries(Object.entries(body).filter(([, value]) => value !== undefined));
        const changed = await announcements.update(id, checked({ ...before, ...given }));
        announcementsInForce.forget();
        return announcementToWire(orNotFound(changed, 'announcement', id));
      },
    }),
    adminEndpoint({
      method: 'DELETE',
      path: '/announcements/:id',
      subject,
      summary: 'Delete an announcement, which ends it at once',
      async run({ id }) {
        if (!(await announcements.delete(id))) throw notFound('announcement', id);
        announcementsInForce.forget();
      },
    }),
  ];
}

/** @throws GatewayError 422 if it would have no text or no duration */
function checked(terms: AnnouncementTerms): AnnouncementTerms {
  if (terms.textEn === null && terms.textZh === null) {
    throw unprocessable('textEn: An announcement needs a text in at least one language.', 'textEn');
  }
  if (terms.startsAt >= terms.endsAt) throw unprocessable('endsAt: The end must be after the start.', 'endsAt');
  return terms;
}
