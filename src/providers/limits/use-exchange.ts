import { monthOf } from '../../accounting/pricing/billing-periods.ts';
import type { LocalTime } from '../../accounting/pricing/local-time.ts';
import { runningPeriods } from '../../accounting/pricing/running-periods.ts';
import type { RouteCosts } from '../../accounting/usage/route-costs-store.ts';
import { type BackgroundJob, createBackgroundJob } from '../../lib/background-job.ts';
import type { Clock } from '../../lib/clock.ts';
import type { Logger } from '../../lib/logger.ts';
import { NOTHING_USED, OthersUse } from './others-use.ts';
import type { LimitedSubject, ProviderLimits } from './provider-limits.ts';
import type { UseStore } from './use-store.ts';

interface UseExchangeDependencies {
  readonly nodeId: string;
  readonly limits: () => { readonly limits: ProviderLimits | null; readonly localTime: LocalTime };
  readonly store: UseStore;
  /** Sums costs, for each partition. */
  readonly costs: readonly ((day: string, providers: readonly string[]) => Promise<RouteCosts[]>)[];
  readonly clock: Clock;
  /** Decides which day and month it is. */
  readonly databaseClock: Clock;
  /** Whether other processes may use the same providers. */
  readonly hasOthers: boolean;
  readonly logger: Logger;
  readonly intervalMs?: number;
}

const INTERVAL_MS = 1_000;
/** Costs are summed some seconds after calls end, so reading them more often would not make them newer. */
const COSTS_EVERY = 3;

export interface UseExchange extends Pick<BackgroundJob, 'round' | 'stop'> {
  /** Reads everything once, so that the first calls meet the budgets, and again every second. Never throws. */
  start(): Promise<void>;
}

/**
 * Tells limits what other processes use, and what calls have cost. It runs only while a configuration has limits. If the database does not
 * respond, limits continue with the use of this process.
 */
export function createUseExchange(deps: UseExchangeDependencies): UseExchange {
  const { nodeId, store, costs, clock, databaseClock, logger } = deps;
  const known = new OthersUse();
  /** The newest costs of each partition, and the day on which they were read. */
  const costsOf = costs.map((): CostsOfDay => ({ day: '', costs: [] }));
  let rounds = 0;
  let last: ProviderLimits | null = null;
  let hasWritten = false;

  async function exchange(subjects: readonly LimitedSubject[]): Promise<void> {
    const rated = subjects.filter(({ use: { limits } }) => hasRates(limits)).map(({ use }) => use);
    if (rated.length === 0 || !deps.hasOthers) return;
    hasWritten = true;
    try {
      const others = await store.exchange(
        nodeId,
        rated.map((use) => ({ id: use.id, ...use.counts })),
      );
      const nowMs = clock.nowMs();
      const newUse = known.read(others, nowMs);
      for (const use of rated) use.addElsewhere(newUse(use.id), nowMs);
    } catch (error) {
      const nowMs = clock.nowMs();
      if (known.isOutdated(nowMs)) for (const use of rated) use.addElsewhere(NOTHING_USED, nowMs);
      throw error;
    }
  }

  async function readCosts({ subjects }: ProviderLimits, localTime: LocalTime): Promise<void> {
    const limited = subjects.filter(({ use: { limits } }) => hasBudget(limits));
    if (limited.length === 0) return;
    const { today, nextDayMs, nextMonthMs } = runningPeriods(localTime, databaseClock.nowMs());
    const providers = [...new Set(limited.map(({ provider }) => provider))];
    const results = await Promise.allSettled(costs.map((read) => read(today, providers)));
    for (const [index, result] of results.entries()) {
      if (result.status === 'fulfilled') costsOf[index] = { day: today, costs: result.value };
    }
    const all = costsOf.flatMap((read) => costsOn(today, read));
    for (const subject of limited) {
      const own = all.filter((each) => isOf(subject, each));
      subject.use.setCosts({
        dayNano: own.reduce((sum, { dayNano }) => sum + dayNano, 0n),
        monthNano: own.reduce((sum, { monthNano }) => sum + monthNano, 0n),
        dayEndsAtMs: nextDayMs,
        monthEndsAtMs: nextMonthMs,
      });
    }
    const failed = results.find((result) => result.status === 'rejected');
    if (failed !== undefined) throw failed.reason;
  }

  const job = createBackgroundJob({
    intervalMs: deps.intervalMs ?? INTERVAL_MS,
    async run() {
      const { limits, localTime } = deps.limits();
      if (limits !== last) rounds = 0;
      last = limits;
      if (limits === null) return;
      const reading = rounds++ % COSTS_EVERY === 0 ? readCosts(limits, localTime) : null;
      await Promise.all([exchange(limits.subjects), reading]);
    },
    logger,
    failing: 'failed to exchange the usage of provider limits with other nodes; retrying',
    recovered: 'exchange of the usage of provider limits restored',
  });
  return {
    round: job.round,
    async start() {
      // A failure is logged by the first regular round.
      await job.round().catch(() => undefined);
      job.start();
    },
    async stop() {
      await job.stop();
      if (hasWritten) await store.leave(nodeId).catch(() => undefined);
    },
  };
}

interface CostsOfDay {
  /** `YYYY-MM-DD` in the billing time zone. */
  readonly day: string;
  readonly costs: readonly RouteCosts[];
}

/** The costs that still count on a later day, if the partition has not responded since: those of the month, if it is the same. */
function costsOn(today: string, { day, costs }: CostsOfDay): readonly RouteCosts[] {
  if (day === today) return costs;
  return monthOf(day) === monthOf(today) ? costs.map((each) => ({ ...each, dayNano: 0n })) : [];
}

function isOf(subject: LimitedSubject, costs: RouteCosts): boolean {
  if (subject.provider !== costs.provider) return false;
  if (subject.of === 'credential') return costs.credential === subject.credentialId;
  return subject.of === 'provider' || (subject.model === costs.model && subject.providerModel === costs.providerModel);
}

type Limits = LimitedSubject['use']['limits'];

const hasRates = ({ requestsPerMinute, tokensPerMinute, concurrentCalls }: Limits): boolean =>
  (requestsPerMinute ?? tokensPerMinute ?? concurrentCalls) !== undefined;

const hasBudget = ({ dailyCostYuan, monthlyCostYuan }: Limits): boolean =>
  (dailyCostYuan ?? monthlyCostYuan) !== undefined;
