import type { Statement } from '../../db/database.ts';
import type { DirectoryPool } from '../../db/home-pools.ts';
import { dateColumn, orNull, type RowOf, selection, textColumn } from '../../db/table.ts';

/** This file stores announcements in a small table, which nodes always read completely. */

const ANNOUNCEMENTS = selection({
  id: textColumn('id'),
  level: textColumn<'info' | 'warning'>('level'),
  audience: textColumn<'everyone' | 'signed_in'>('audience'),
  /** The text in each language; `null`: only the other language has one. */
  textEn: orNull(textColumn('text_en')),
  textZh: orNull(textColumn('text_zh')),
  startsAt: dateColumn('starts_at'),
  endsAt: dateColumn('ends_at'),
  createdAt: dateColumn('created_at'),
  createdBy: textColumn('created_by'),
});

export type Announcement = RowOf<typeof ANNOUNCEMENTS>;

/** What an operator can change. */
export type AnnouncementTerms = Omit<Announcement, 'id' | 'createdAt' | 'createdBy'>;

/** Maximum number of announcements that have not ended, because each node keeps all of them in memory. */
export const ANNOUNCEMENTS_MAX = 20;

/** How long an announcement is kept after its end. */
const KEPT_DAYS = 90;

/** Selects announcements, newest first, because ids sort by time. */
const listAnnouncements: Statement = {
  name: 'announcements.list',
  text: `select ${ANNOUNCEMENTS.list} from announcements order by id desc`,
};

/** Selects announcements that have not ended. Scans the table, which has few rows. */
const listCurrent: Statement = {
  name: 'announcements.list-current',
  text: `select ${ANNOUNCEMENTS.list} from announcements where ends_at > $1::timestamptz order by id desc
limit ${ANNOUNCEMENTS_MAX}`,
};

/** Uses the primary key. */
const findAnnouncement: Statement = {
  name: 'announcements.find',
  text: `select ${ANNOUNCEMENTS.list} from announcements where id = $1`,
};

/** Locks the table, so that announcements are created one at a time and their number is exact. Readers do not wait. */
const lockAnnouncements: Statement = {
  name: 'announcements.lock',
  text: 'lock table announcements in share row exclusive mode',
};

const deleteOld: Statement = {
  name: 'announcements.delete-old',
  text: `delete from announcements where ends_at < $1::timestamptz - interval '${KEPT_DAYS} days'`,
};

/** Inserts an announcement. Inserts nothing if there are too many. */
const insertAnnouncement: Statement = {
  name: 'announcements.insert',
  text: `insert into announcements (id, level, audience, text_en, text_zh, starts_at, ends_at, created_at, created_by)
select $1, $2, $3, $4, $5, $6::timestamptz, $7::timestamptz, $8::timestamptz, $9
where (select count(*) from announcements where ends_at > $8::timestamptz) < ${ANNOUNCEMENTS_MAX}
returning ${ANNOUNCEMENTS.list}`,
};

/** Uses the primary key. */
const updateAnnouncement: Statement = {
  name: 'announcements.update',
  text: `update announcements set level = $2, audience = $3, text_en = $4, text_zh = $5, starts_at = $6::timestamptz,
  ends_at = $7::timestamptz
where id = $1 returning ${ANNOUNCEMENTS.list}`,
};

/** Uses the primary key. */
const deleteAnnouncement: Statement = {
  name: 'announcements.delete',
  text: 'delete from announcements where id = $1 returning id',
};

export type AnnouncementsStore = ReturnType<typeof createAnnouncementsStore>;

export function createAnnouncementsStore(database: DirectoryPool) {
  return {
    list: async () => ANNOUNCEMENTS.all(await database.query(listAnnouncements)),
    /** Announcements that have not ended, also those that have not started. */
    listCurrent: async (at: Date) => ANNOUNCEMENTS.all(await database.query(listCurrent, [at])),
    find: async (id: string) => ANNOUNCEMENTS.first(await database.query(findAnnouncement, [id])),
    /** Inserts an announcement and deletes old ones; `null`: there are too many. */
    insert: (announcement: Announcement): Promise<Announcement | null> =>
      database.transaction(async (transaction) => {
        await transaction.query(lockAnnouncements);
        await transaction.query(deleteOld, [announcement.createdAt]);
        const { id, createdAt, createdBy } = announcement;
        const values = [id, ...termsOf(announcement), createdAt, createdBy];
        return ANNOUNCEMENTS.first(await transaction.query(insertAnnouncement, values));
      }),
    /** Returns the changed announcement; `null`: there is none with this id. */
    update: async (id: string, terms: AnnouncementTerms) =>
      ANNOUNCEMENTS.first(await database.query(updateAnnouncement, [id, ...termsOf(terms)])),
    delete: async (id: string) => (await database.query(deleteAnnouncement, [id])).length > 0,
  };
}

function termsOf({ level, audience, textEn, textZh, startsAt, endsAt }: AnnouncementTerms) {
  return [level, audience, textEn, textZh, startsAt, endsAt];
}
