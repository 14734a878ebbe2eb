import type { ShownAnnouncement } from '../api/types.ts';
import { loadedLater } from './loaded-later.tsx';

interface AnnouncementsProps {
  readonly announcements: readonly ShownAnnouncement[];
}

const banners = loadedLater<AnnouncementsProps>(
  async () => (await import('./announcement-banners.tsx')).AnnouncementBanners,
);

/** Announcements of the operator. Their code loads only if there are any. */
export function Announcements({ announcements }: AnnouncementsProps) {
  return announcements.length === 0 ? null : <banners.Component announcements={announcements} />;
}
