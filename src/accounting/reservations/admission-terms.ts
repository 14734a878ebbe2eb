import type { Clock } from '../../lib/clock.ts';
import type { PlanTerms } from '../plans/plan.ts';
import type { LocalTime } from '../pricing/local-time.ts';
import { runningPeriods } from '../pricing/running-periods.ts';
import type { AdmissionTerms } from './account-state.ts';
import type { RateDefaults } from './rate-defaults.ts';

/** What is read from the configuration, anew each time: it may be reloaded. */
export interface ReservationTerms {
  readonly localTime: LocalTime;
  readonly defaultDailyCapNano: bigint | null;
  readonly plans: readonly PlanTerms[];
  readonly rateDefaults: RateDefaults | null;
}

interface AdmissionTermsParts {
  readonly terms: () => ReservationTerms;
  /** Identifies this process in its reservations, so that other nodes know which node made them. */
  readonly nodeId: string;
  /** For tests: in place of the database's clock. */
  readonly testClock?: Clock | undefined;
}

/** The terms of an admission that begins now. */
export function admissionTerms({ terms, nodeId, testClock }: AdmissionTermsParts): AdmissionTerms {
  const { localTime, defaultDailyCapNano, plans, rateDefaults } = terms();
  const byId = plansById(plans);
  return {
    nowMs: testClock?.nowMs() ?? null,
    plans: byId,
    rateDefaults,
    contextAt: (nowMs) => ({
      ...runningPeriods(localTime, nowMs),
      defaultDailyCapNano,
      rateDefaults,
      plans: byId,
      nodeId,
    }),
  };
}

/** Plans belong to the configuration, so this is made once for each. */
const plansByIdOf = new WeakMap<readonly PlanTerms[], ReadonlyMap<string, PlanTerms>>();

function plansById(plans: readonly PlanTerms[]): ReadonlyMap<string, PlanTerms> {
  let byId = plansByIdOf.get(plans);
  if (byId === undefined) {
    byId = new Map(plans.map((plan) => [plan.id, plan]));
    plansByIdOf.set(plans, byId);
  }
  return byId;
}
