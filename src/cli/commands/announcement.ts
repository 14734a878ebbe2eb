import type { AnnouncementResponse, AnnouncementsResponse } from '../../api/announcements/wire.ts';
import { group } from '../command-rows.ts';
import { columnsOf, renderTable } from '../table.ts';

const ABOUT = 'announcements: banners that the console shows from a start to an end';

const TERMS = {
  '--en <text>': 'English text, at most 500 characters',
  '--zh <text>': 'Chinese text; with only one text, both languages show it',
  '--level <level>': 'info or warning',
  '--for <audience>': 'signed_in, or everyone, which is also people before sign-in',
  '--from <instant>': 'when it begins, such as 2026-12-05T18:00:00Z',
};

/** What the creation and the change of an announcement send and print. */
const WRITING = {
  body: ({ en, zh, level, for: audience, from, to }: Readonly<Record<string, unknown>>) => ({
    textEn: en,
    textZh: zh,
    level,
    audience,
    startsAt: from,
    endsAt: to,
  }),
  text: ({ id, startsAt, endsAt }: AnnouncementResponse) => `${id} is shown from ${startsAt} to ${endsAt}.`,
};

export const announcementCommands = group('announcement', ABOUT, {
  create: {
    about: 'create an announcement; by default it begins now, is an info, and is for signed-in people',
    with: { ...TERMS, '--to <instant>': { text: 'when it ends, such as 2026-12-05T19:00:00Z', isRequired: true } },
    sends: 'POST /announcements',
    ...WRITING,
  },
  list: {
    about: 'list announcements, newest first, also those that ended in the last 90 days',
    sends: 'GET /announcements',
    text: ({ data }: AnnouncementsResponse) =>
      renderTable(data, 'There are no announcements. Create one: faregate announcement create --en TEXT --to INSTANT', [
        ...columnsOf<AnnouncementResponse>('id', 'level', 'for: audience', 'from: startsAt', 'to: endsAt'),
        { title: 'text', cell: ({ textEn, textZh }) => textEn ?? textZh ?? '' },
        ...columnsOf<AnnouncementResponse>('by: createdBy'),
      ]),
  },
  'change <announcement>': {
    about: 'change the texts, the times, the level or the audience of an announcement',
    with: { '<announcement>': 'id of the announcement', ...TERMS, '--to <instant>': 'when it ends' },
    sends: 'PATCH /announcements/:announcement',
    ...WRITING,
  },
  'delete <announcement>': {
    about: 'delete an announcement, which ends it at once',
    with: { '<announcement>': 'id of the announcement' },
    sends: 'DELETE /announcements/:announcement',
    done: 'deleted',
  },
});
