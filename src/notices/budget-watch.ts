import { percentOf } from '../accounting/reservations/limits/used-budgets.ts';
import { formatYuan } from '../lib/yuan.ts';
import type { LimitedSubject } from '../providers/limits/provider-limits.ts';
import type { DueNotice } from './notice.ts';
import { dueLevel, type NoticeLevel } from './notice-states.ts';

type Limited = Pick<LimitedSubject, 'of' | 'provider' | 'model' | 'providerModel' | 'credential'>;

/** A budget of a provider, a route or a credential, with what is used of it. */
export interface WatchedBudget extends Limited {
  /** Identifies what is limited. */
  readonly id: string;
  readonly period: 'day' | 'month';
  readonly usedNano: bigint;
  readonly maxNano: bigint;
  readonly endsAtMs: number;
}

export interface DueBudgets {
  readonly notices: readonly DueNotice[];
  readonly levels: readonly NoticeLevel[];
}

const KIND = 'provider.budget_nearly_used';

/**
 * Finds the budgets of providers, routes and credentials of which a share is used. Each share causes one notice in a period: the dedupe key
 * is the same on all nodes and after restarts. What this process has notified is remembered, so that it does not write it again. A changed
 * budget counts as another one, as those of keys do.
 */
export class BudgetWatch {
  #levels = new Map<string, NoticeLevel>();

  /** Returns what is due; again until it is passed to `markStored`. */
  findDue(budgets: readonly WatchedBudget[], percents: readonly number[]): DueBudgets {
    const known = this.#levels;
    this.#levels = new Map();
    const notices: DueNotice[] = [];
    const levels: NoticeLevel[] = [];
    for (const budget of budgets) {
      const { id, period, usedNano, maxNano, endsAtMs } = budget;
      const subject = `${id} ${period}`;
      const state = known.get(subject);
      if (state !== undefined) this.#levels.set(subject, state);
      const occurrence = `${endsAtMs} ${maxNano}`;
      const level = dueLevel(state, { occurrence, percent: percentOf(usedNano, maxNano), percents });
      if (level === null) continue;
      levels.push({ subject, occurrence, level });
      notices.push({
        kind: KIND,
        accountId: null,
        subject,
        dedupeKey: `${KIND} ${subject} ${occurrence} ${level}`,
        quietMs: 0,
        data: dataOf(budget, level),
      });
    }
    return { notices, levels };
  }

  /** Called when this or another node has stored the notices. */
  markStored({ levels }: DueBudgets): void {
    for (const level of levels) this.#levels.set(level.subject, level);
  }
}

function dataOf(budget: WatchedBudget, percent: number): DueNotice['data'] {
  const { of, provider, model, providerModel, credential, period, usedNano, maxNano, endsAtMs } = budget;
  return {
    of,
    provider,
    model,
    providerModel,
    credential,
    period,
    percent,
    usedYuan: formatYuan(usedNano),
    limitYuan: formatYuan(maxNano),
    resetsAt: new Date(endsAtMs).toISOString(),
  };
}
