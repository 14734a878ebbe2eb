import type { Clock } from '../../lib/clock.ts';
import { shareInFlight } from '../../lib/shared-reads.ts';
import type { Announcement, AnnouncementsStore } from './announcements-store.ts';

/** Age of the announcements that people see. Anybody can request those for everyone, so the database must not be read each time. */
const KEPT_MS = 5_000;

type Shown = Pick<Announcement, 'startsAt' | 'endsAt' | 'audience'>;

/** Returns the announcements that are in force at an instant for people who have signed in, or for everyone. */
export function inForce<Of extends Shown>(all: readonly Of[], atMs: number, isSignedIn: boolean): Of[] {
  return all.filter(
    ({ startsAt, endsAt, audience }) =>
      startsAt.getTime() <= atMs && atMs < endsAt.getTime() && (isSignedIn || audience === 'everyone'),
  );
}

/** The announcements of this node's memory. */
export interface AnnouncementsInForce {
  /** Returns the announcements in force. If the database is down, those that were read last. */
  read(isSignedIn: boolean): Promise<readonly Announcement[]>;
  /** Reads the database at the next request, because this node has changed an announcement. */
  forget(): void;
}

export function createAnnouncementsInForce(
  store: Pick<AnnouncementsStore, 'listCurrent'>,
  clock: Clock,
): AnnouncementsInForce {
  let kept: readonly Announcement[] = [];
  let keptAtMs = Number.NEGATIVE_INFINITY;
  /** Number of changes by this node. A read that began before a change does not count. */
  let changes = 0;
  const isOld = (): boolean => Math.abs(clock.nowMs() - keptAtMs) >= KEPT_MS;
  const refresh = shareInFlight(async () => {
    const [nowMs, before] = [clock.nowMs(), changes];
    kept = await store.listCurrent(new Date(nowMs)).catch(() => kept);
    if (changes === before) keptAtMs = nowMs;
  });
  return {
    async read(isSignedIn) {
      if (isOld()) await refresh();
      // The read that was running had begun before a change.
      if (isOld()) await refresh();
      return inForce(kept, clock.nowMs(), isSignedIn);
    },
    forget() {
      changes++;
      keptAtMs = Number.NEGATIVE_INFINITY;
    },
  };
}
