import { z } from 'zod';
import type { Announcement } from '../../notices/announcements/announcements-store.ts';
import { signerIdOf } from '../../people/actor.ts';
import { at, listOf, signerId } from '../management/response-fields.ts';
import { shown } from '../management/shown.ts';

export const announcementLevel = z.enum(['info', 'warning']);
export const announcementAudience = z.enum(['everyone', 'signed_in']);

const members = {
  id: z.string(),
  level: announcementLevel,
  textEn: z.string().nullable().describe('The English text; null: the Chinese one is shown in both languages.'),
  textZh: z.string().nullable().describe('The Chinese text; null: the English one is shown in both languages.'),
};

/** An announcement as people see it. */
export const shownAnnouncement = z.strictObject(members).meta({ id: 'ShownAnnouncement' });
export const shownAnnouncements = listOf(shownAnnouncement).describe(
  'Announcements of the operator that are in force, newest first.',
);

export const announcementResponse = z
  .strictObject({
    ...members,
    audience: announcementAudience.describe('`everyone`: also before sign-in.'),
    startsAt: at,
    endsAt: at,
    createdAt: at,
    createdBy: z.string(),
    createdById: signerId,
  })
  .meta({ id: 'Announcement' });
export type AnnouncementResponse = z.infer<typeof announcementResponse>;

export const announcementList = z.strictObject({ data: listOf(announcementResponse) });
export type AnnouncementsResponse = z.infer<typeof announcementList>;

export function announcementToWire(announcement: Announcement): AnnouncementResponse {
  return shown(announcementResponse, { ...announcement, createdById: signerIdOf(announcement.createdBy) });
}

export function announcementToReaders({ id, level, textEn, textZh }: Announcement): z.infer<typeof shownAnnouncement> {
  return { id, level, textEn, textZh };
}
