import type { Clock } from '../lib/clock.ts';
import type { Ids } from '../lib/ids.ts';
import type { Logger } from '../lib/logger.ts';
import { type Actor, actorName } from '../people/actor.ts';
import type { ChangeResult, NewChange } from './change.ts';
import type { Change, ChangeActor, ChangesStore } from './changes-store.ts';
import { toRecorded, toRecordedPair } from './recorded-value.ts';

export const CHANGE_PREFIX = 'chg';

/** By how much the clocks of two nodes may differ. */
const CLOCKS_APART_MS = 5_000;

interface ChangeLogParts {
  readonly store: Pick<ChangesStore, 'insert' | 'end' | 'withdraw' | 'withdrawUnchanged'>;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly logger: Logger;
}

export type ChangeLog = ReturnType<typeof createChangeLog>;

/**
 * Records who changes what. A change has its row before it is made, so that nothing is changed without one, whatever becomes of
 * the process: a row of which nothing more was heard stays `begun`.
 */
export function createChangeLog({ store, clock, ids, logger }: ChangeLogParts) {
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
      logger.error({ err: error, change: id }, 'what came of a change could not be written to the change log');
    }
  }

  return {
    nowMs: () => clock.nowMs(),
    /** @throws if the row cannot be written: then the change must not be made. */
    async begin(change: NewChange) {
      const row = toRow(change);
      const { id } = row;
      await store.insert(row);
      // What came of it is logged if it cannot be written: the change itself is made by then.
      return {
        done: ({ actor, subjectId, accountId, after, before = change.before }: ChangeResult) =>
          attempt(id, () => {
            const [old, next] = toRecordedPair(before, after);
            const made = { actor, subjectId, accountId, before: old, after: next };
            return store.end(id, { ...row, ...made, endedAtMs: clock.nowMs(), outcome: 'done' });
          }),
        /** It has ended with an error, and may have changed something. */
        failed: (errorCode: string) =>
          attempt(id, () => store.end(id, { ...row, endedAtMs: clock.nowMs(), outcome: 'failed', errorCode })),
        /** It was refused before it changed anything, and leaves no row. */
        withdraw: () => attempt(id, () => store.withdraw(id)),
        /**
         * It has changed nothing that is shown of its subject, and leaves no row. `false`: the row stays, because the subject was changed by
         * others at the same time.
         *
         * @param readAtMs when the subject was read first.
         */
        async withdrawUnchanged(subjectId: string, readAtMs: number): Promise<boolean> {
          let isGone = false;
          await attempt(id, async () => {
            isGone = await store.withdrawUnchanged(id, subjectId, readAtMs - CLOCKS_APART_MS);
          });
          return isGone;
        },
      };
    },
    /** Records what was changed elsewhere. @throws if the row cannot be written. */
    async note(change: NewChange, after: object): Promise<void> {
      const row = toRow(change);
      await store.insert({ ...row, endedAtMs: row.begunAtMs, outcome: 'done', after: toRecorded(after) });
    },
  };
}

/** Who a row of the log names. `localUser` counts for the command line alone. */
export function changeActor(actor: Actor, localUser: string | null): ChangeActor {
  return {
    kind: actor.kind,
    id: 'id' in actor ? actor.id : null,
    name: actorName(actor),
    sessionId: actor.kind === 'user' ? actor.sessionId : null,
    localUser: actor.kind === 'command_line' ? localUser : null,
  };
}
