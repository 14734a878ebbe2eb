import type { FastifyInstance } from 'fastify';
import type { Principals } from '../accounting/accounts/principals.ts';
import { findCurrentPlan } from '../accounting/plans/snapshot.ts';
import { endpointAliases } from '../api/endpoints/aliases.ts';
import type { Endpoint } from '../api/endpoints/endpoint.ts';
import { Refusals } from '../api/endpoints/refusals.ts';
import { registerEndpoints } from '../api/endpoints/register.ts';
import { publishedOperations } from '../api/endpoints/table.ts';
import type { QuerySources } from '../api/queries/query.ts';
import { CallAdmission } from '../calls/admission.ts';
import { createAdmissionQueue } from '../calls/admission-queue.ts';
import type { MemoryOf } from '../calls/body-memory.ts';
import { CallRunner } from '../calls/call-runner.ts';
import { Fallbacks } from '../calls/fallbacks.ts';
import { IdempotentCalls } from '../calls/idempotency/idempotent-call.ts';
import { Preparation } from '../calls/preparation.ts';
import { ABORT_LIMITS } from '../calls/relay/client-abort.ts';
import { createRequestWorkers, type RequestWorkers } from '../calls/request-workers.ts';
import { Rewriter } from '../calls/rewritten-input.ts';
import type { SettingsInForce } from '../calls/settings-in-force.ts';
import { Translator } from '../calls/translated-input.ts';
import type { Config } from '../config/schema.ts';
import { type BodyBudgets, LARGE_BODY_BYTES } from '../http/body-budgets.ts';
import type { ClientAddresses } from '../http/client-address.ts';
import type { RefusalThrottle } from '../http/refusal-throttle.ts';
import type { Clock } from '../lib/clock.ts';
import type { Logger } from '../lib/logger.ts';
import type { Part } from '../lib/part.ts';
import { shareReads } from '../lib/shared-reads.ts';
import { OutputSpeeds } from '../protocols/metering/output-speed.ts';
import { createPublicCatalog, type PublicCatalog } from '../providers/catalog/public-catalog.ts';
import type { RouteHealth } from '../providers/routing/health.ts';
import type { Accounting } from './accounting.ts';
import type { GatewayOptions } from './gateway-options.ts';
import { createListShares, requestWorkerLimits } from './worker-limits.ts';

interface PublicApiDependencies {
  readonly app: FastifyInstance;
  readonly options: Pick<GatewayOptions, 'requestWorkers' | 'randomSource' | 'abortLimits'>;
  readonly table: readonly Endpoint[];
  readonly part: Part;
  readonly accounting: Accounting;
  readonly settings: SettingsInForce;
  readonly principals: Principals;
  readonly health: RouteHealth;
  readonly addresses: ClientAddresses;
  readonly throttle: RefusalThrottle;
  readonly bodyBudgets: BodyBudgets;
  /** Directory for uploads. */
  readonly spoolDirectory: string;
  readonly clock: Clock;
  readonly logger: Logger;
}

export class PublicApi {
  readonly admissionQueue = createAdmissionQueue();
  readonly requestWorkers: RequestWorkers;
  readonly #describeCatalog: (config: Config) => () => PublicCatalog;
  #catalog: () => PublicCatalog;

  constructor(deps: PublicApiDependencies) {
    const { options, table, accounting, settings, health, addresses, throttle, bodyBudgets, clock, logger } = deps;
    const { databaseClock, drains, continuationKeys, reservations, settlement, storedResponses } = accounting;
    const { config } = settings.current;
    const published = publishedOperations(table);
    this.#describeCatalog = (described) => createPublicCatalog(described, published, clock);
    this.#catalog = this.#describeCatalog(config);
    this.requestWorkers = createRequestWorkers({ ...requestWorkerLimits(deps.part), ...options.requestWorkers });
    const queue = this.admissionQueue;
    const admission = new CallAdmission({ reservations, queue, databaseClock });
    const randomSource = options.randomSource ?? Math.random;
    const memoryOf: MemoryOf = (tenant) => {
      const memory = bodyBudgets.memoryOf(tenant);
      return {
        need: (sizeBytes) => memory.need(sizeBytes, sizeBytes > LARGE_BODY_BYTES),
        release: () => memory.release(),
      };
    };
    const translator = new Translator({ translate: this.requestWorkers.translate, memoryOf });
    const rewriter = new Rewriter({ rewrite: this.requestWorkers.rewrite, memoryOf });
    const preparing = {
      continuationKeys,
      health,
      drained: drains,
      clock,
      databaseClock,
      randomSource,
      translator,
      rewriter,
    };
    const preparation = new Preparation(preparing);
    const calls = new CallRunner({
      preparation,
      fallbacks: new Fallbacks({ preparation, logger }),
      translator,
      rewriter,
      admission,
      settlement,
      onEnded: (accountId) => queue.ended(accountId),
      health,
      drained: drains,
      clock,
      logger,
      abortLimits: { ...ABORT_LIMITS, ...options.abortLimits },
      speeds: new OutputSpeeds(),
      countInput: this.requestWorkers.count,
      translateAnswer: this.requestWorkers.translateAnswer,
      unsentOf: (tenant) => bodyBudgets.unsentOf(tenant),
    });
    const idempotentCalls = new IdempotentCalls({
      storedResponses,
      budget: bodyBudgets,
      settings: () => settings.current,
    });
    const aliases = endpointAliases(table, config.server.protocolNames.messages);
    registerEndpoints(deps.app, [...table, ...aliases], {
      refusals: new Refusals({ principals: deps.principals, addresses, throttle, idempotentCalls }),
      settings: () => settings.current,
      bodyBudgets,
      admission,
      requestWorkers: this.requestWorkers,
      spoolDirectory: deps.spoolDirectory,
      calls,
      idempotentCalls,
      listShares: createListShares(deps.part),
      querySources: createQuerySources(accounting, settings, () => this.#catalog()),
    });
  }

  reload(config: Config): void {
    this.#catalog = this.#describeCatalog(config);
  }
}

/** Creates the sources of queries. Concurrent ones share reads of a balance: per account, at most one read runs and one waits. */
function createQuerySources(
  { balances, periods, databaseNowMs }: Pick<Accounting, 'balances' | 'periods' | 'databaseNowMs'>,
  settings: SettingsInForce,
  publicCatalog: () => PublicCatalog,
): QuerySources {
  return {
    balanceNano: shareReads(async (accountId) => {
      const found = await balances.ledger.findBalances([accountId], periods());
      return found.get(accountId)?.balanceNano ?? 0n;
    }),
    budgetLeftNano: async ({ accountId, keyId, isKeyLimited, memberId }) => {
      const owners = [...(isKeyLimited ? [keyId] : []), ...(memberId === null ? [] : [memberId])];
      return owners.length === 0 ? null : balances.keyBudgets.smallestLeftNano(accountId, owners, periods());
    },
    config: () => settings.current.config,
    catalog: () => settings.current.catalog,
    publicCatalog,
    subscription: shareReads(async (accountId) => {
      const nowMs = await databaseNowMs(balances);
      const { plans } = settings.current;
      const state = await balances.subscriptions.findState(accountId, new Date(nowMs), plans);
      return { ...findCurrentPlan(state, plans, nowMs), nowMs };
    }),
  };
}
