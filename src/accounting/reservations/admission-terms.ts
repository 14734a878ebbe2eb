import type { Clock } from '../../lib/clock.ts';
import type { PlanTerms } from '../plans/plan.ts';
import type { LocalTime } from '../pricing/local-time.ts';
import { runningPeriods } from '../pricing/running-periods.ts';
import type { AdmissionTerms } from './account-state.ts';
import type { RateDefaults } from './rate-defaults.ts';

/** Settings that each admission reads, because the configuration can be reloaded. */
export interface ReservationTerms {
  readonly localTime: LocalTime;
  readonly defaultDailyCapNano: bigint | null;
  readonly plans: readonly PlanTerms[];
  readonly rateDefaults: RateDefaults | null;
}

interface AdmissionTermsDependencies {
  readonly terms: () => ReservationTerms;
  readonly nodeId: string;
  readonly testClock?: Clock | undefined;
}

export function admissionTerms({ terms, nodeId, testClock }: AdmissionTermsDependencies): AdmissionTerms {
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

const plansByIdOf = new WeakMap<readonly PlanTerms[], ReadonlyMap<string, PlanTerms>>();

function plansById(plans: readonly PlanTerms[]): ReadonlyMap<string, PlanTerms> {
  let byId = plansByIdOf.get(plans);
  if (byId === undefined) {
    byId = new Map(plans.map((plan) => [plan.id, plan]));
    plansByIdOf.set(plans, byId);
  }
  return byId;
}
