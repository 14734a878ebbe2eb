import type { DueNotice } from './notice.ts';

/** Level at which a subject last caused a notice. */
export interface NoticeLevel {
  readonly subject: string;
  /** Period to which the level belongs; empty if the subject has no periods. */
  readonly occurrence: string;
  readonly level: number;
}

/** Level of a subject of an account, as long as it is not left. */
export interface NoticeState extends NoticeLevel {
  readonly accountId: string;
}

export type NoticeStates = ReadonlyMap<string, NoticeState>;

export interface AccountDecision {
  readonly notices: readonly DueNotice[];
  readonly states: readonly NoticeState[];
  readonly cleared: readonly string[];
}

export const NOTHING: AccountDecision = { notices: [], states: [], cleared: [] };

interface UsedShare {
  /** Identifies the period. */
  readonly occurrence: string;
  /** Used share of the limit. */
  readonly percent: number;
  /** Shares at which a notice is sent, in ascending order. */
  readonly percents: readonly number[];
}

/** Returns the highest share that is reached; `null` if it was notified in this period, or none is. */
export function dueLevel(state: NoticeLevel | undefined, { occurrence, percent, percents }: UsedShare): number | null {
  const level = percents.findLast((each) => each <= percent) ?? 0;
  const notified = state?.occurrence === occurrence ? state.level : 0;
  return level > notified ? level : null;
}

interface Reached extends UsedShare, Pick<DueNotice, 'kind' | 'mailTo' | 'data'> {
  readonly accountId: string;
  readonly subject: string;
}

/** Decides on a limit: one notice for each share and period, for the highest share that is reached. A lower use causes no other notice. */
export function decideShare(states: NoticeStates, reached: Reached): AccountDecision {
  const { accountId, subject, occurrence, percent, percents, data, ...notice } = reached;
  const level = dueLevel(states.get(subject), { occurrence, percent, percents });
  if (level === null) return NOTHING;
  const dedupeKey = `${notice.kind} ${subject} ${occurrence} ${level}`;
  return {
    cleared: [],
    states: [{ accountId, subject, occurrence, level }],
    notices: [{ ...notice, accountId, subject, dedupeKey, quietMs: 0, data: { ...data, percent: level } }],
  };
}
