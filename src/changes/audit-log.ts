import type { Clock } from '../lib/clock.ts';
import type { Ids } from '../lib/ids.ts';
import type { Logger } from '../lib/logger.ts';
import { type Actor, actorName } from '../people/actor.ts';
import type { ChangeResult, NewChange } from './change.ts';
import type { Change, ChangeActor, ChangesStore } from './changes-store.ts';
import { toRecorded, toRecordedPair } from './recorded-value.ts';

export const CHANGE_PREFIX = 'chg';

/** Maximum difference between the clocks of two nodes. */
const CLOCKS_APART_MS = 5_000;

interface AuditLogDependencies {
  readonly store: Pick<ChangesStore, 'insert' | 'end' | 'withdraw' | 'withdrawUnchanged'>;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly logger: Logger;
}

export type AuditLog = ReturnType<typeof createAuditLog>;

/** Writes the audit log. A row is written before its change, so that none lacks one. Without a recorded outcome, it stays `begun`. */
export function createAuditLog({ store, clock, ids, logger }: AuditLogDependencies) {
  const toRow = (change: NewChange): Change => ({
    ...change,
    id: ids.next(CHANGE_PREFIX),
    begunAtMs: clock.nowMs(),
    endedAtMs: null,
    outcome: 'begun',
    before: toRecorded(change.before),
    after: null,
    errorCode: null,
  });

  async function attempt(id: string, work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      logger.error({ err: error, change: id }, 'failed to record the outcome of a change in the audit log');
    }
  }

  return {
    nowMs: () => clock.nowMs(),
    /** Writes the row of a change. @throws if this fails; the change must then not be made */
    async begin(change: NewChange) {
      const row = toRow(change);
      const { id } = row;
      await store.insert(row);
      // The change was made, so a failure to record its outcome is only logged.
      return {
        done: ({ actor, subjectId, accountId, after, before = change.before }: ChangeResult) =>
          attempt(id, () => {
            const [old, next] = toRecordedPair(before, after);
            const made = { actor, subjectId, accountId, before: old, after: next };
            return store.end(id, { ...row, ...made, endedAtMs: clock.nowMs(), outcome: 'done' });
          }),
        failed: (errorCode: string) =>
          attempt(id, () => store.end(id, { ...row, endedAtMs: clock.nowMs(), outcome: 'failed', errorCode })),
        /** Deletes the row of a change that was refused and had no effect. */
        withdraw: () => attempt(id, () => store.withdraw(id)),
        /** Deletes the row of a change without a visible effect. Returns `false` if others have changed the subject since `readAtMs`. */
        async withdrawUnchanged(subjectId: string, readAtMs: number): Promise<boolean> {
          let isGone = false;
          await attempt(id, async () => {
            isGone = await store.withdrawUnchanged(id, subjectId, readAtMs - CLOCKS_APART_MS);
          });
          return isGone;
        },
      };
    },
    /** Records a change that no request has made. @throws if the row cannot be written */
    async note(change: NewChange, after: object): Promise<void> {
      const row = toRow(change);
      await store.insert({ ...row, endedAtMs: row.begunAtMs, outcome: 'done', after: toRecorded(after) });
    },
  };
}

/** `localUser`: user of the command line; ignored for other actors. */
export function changeActor(actor: Actor, localUser: string | null): ChangeActor {
  return {
    kind: actor.kind,
    id: 'id' in actor ? actor.id : null,
    name: actorName(actor),
    sessionId: actor.kind === 'user' ? actor.sessionId : null,
    localUser: actor.kind === 'command_line' ? localUser : null,
  };
}
