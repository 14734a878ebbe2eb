import type { FastifyInstance } from 'fastify';
import type { Principals } from '../accounting/accounts/principals.ts';
import { auditLedger } from '../accounting/audit/audit-store.ts';
import { registerConsole } from '../api/console/register.ts';
import type { Endpoint } from '../api/endpoints/endpoint.ts';
import { createGuard, type Guard } from '../api/management/guard.ts';
import { keyReader } from '../api/management/key-reader.ts';
import { ACCOUNT_PREFIX, ADMIN_PREFIX } from '../api/management/prefixes.ts';
import type { ManagementChange, ManagementWatch } from '../api/management/serve.ts';
import { registerOpenApi } from '../api/openapi/register.ts';
import { createPublicPrices } from '../api/plans/listed-model.ts';
import { type AccountApiDependencies, accountTable, registerAccount } from '../api/registers/account.ts';
import { adminTable, registerAdmin } from '../api/registers/admin.ts';
import { peopleTable, registerPeople } from '../api/registers/people.ts';
import { modelsOf, searchDialectOf, testProviderOf } from '../calls/provider-tester.ts';
import type { SettingsInForce } from '../calls/settings-in-force.ts';
import { type AuditLog, changeActor, createAuditLog } from '../changes/audit-log.ts';
import { createChangesStore } from '../changes/changes-store.ts';
import { ReloadLog } from '../changes/reload-log.ts';
import type { ConfigLoads } from '../config/loads.ts';
import type { PriceSource } from '../config/price-source/price-source.ts';
import { CatalogReader } from '../config/revisions/catalog-reader.ts';
import type { NodeCatalog } from '../config/revisions/node-catalog.ts';
import { createRevisionStore } from '../config/revisions/revisions-store.ts';
import type { PartitionedDatabases } from '../db/home-pools.ts';
import { orRefused, requestPool } from '../db/request-pool.ts';
import type { BodyBudgets } from '../http/body-budgets.ts';
import type { ClientAddresses } from '../http/client-address.ts';
import { ownUrl } from '../http/listening.ts';
import type { RefusalThrottle } from '../http/refusal-throttle.ts';
import type { BackgroundJob } from '../lib/background-job.ts';
import type { Clock } from '../lib/clock.ts';
import type { Ids } from '../lib/ids.ts';
import type { Logger } from '../lib/logger.ts';
import { systemPace } from '../lib/pace.ts';
import type { Part } from '../lib/part.ts';
import { createAdminTokenReader } from '../people/admin-token-reader.ts';
import { createAdminTokensStore } from '../people/admin-tokens-store.ts';
import type { RecordReset } from '../people/password-resets.ts';
import type { RouteHealth } from '../providers/routing/health.ts';
import type { UnpricedUses } from '../requests/unpriced-uses.ts';
import type { Accounting } from './accounting.ts';
import { createAdminParts, createSealedSecretParts } from './admin-parts.ts';
import type { GatewayOptions } from './gateway-options.ts';
import type { Guesses } from './guesses.ts';
import { Notices } from './notices.ts';
import { createPeople, type People } from './people.ts';
import { createPriceSource, createPriceSourceJob, reportReads } from './price-source.ts';
import { tenantLimits } from './worker-limits.ts';

interface ManagementDependencies {
  readonly app: FastifyInstance;
  readonly options: Pick<
    GatewayOptions,
    'adminTokens' | 'localToken' | 'notices' | 'checksResponses' | 'revisionLeadMs' | 'sealingKeys' | 'priceSource'
  >;
  readonly nodeId: string;
  readonly part: Part;
  readonly databases: PartitionedDatabases;
  readonly accounting: Accounting;
  readonly settings: SettingsInForce;
  readonly configLoads: ConfigLoads;
  readonly catalog: NodeCatalog;
  readonly principals: Principals;
  readonly health: RouteHealth;
  readonly unpricedUses: UnpricedUses;
  readonly bodyBudgets: BodyBudgets;
  readonly addresses: ClientAddresses;
  readonly throttle: RefusalThrottle;
  readonly guesses: Guesses;
  /** Public endpoints, which the OpenAPI document describes, too. */
  readonly publicTable: readonly Endpoint[];
  readonly clock: Clock;
  readonly monotonicMs: () => number;
  readonly ids: Ids;
  readonly logger: Logger;
}

export class ManagementApis {
  /** Authenticates requests, also those for metrics. */
  readonly guard: Guard;
  readonly notices: Notices;
  readonly reloadLog: ReloadLog;
  readonly priceSource: PriceSource;
  readonly #priceSourceJob: BackgroundJob;
  readonly #resets: People['resets'];
  readonly #tokenReader: ReturnType<typeof createAdminTokenReader>;

  constructor(deps: ManagementDependencies) {
    const { app, options, accounting, addresses, throttle, databases, settings, guesses, nodeId, clock, ids, logger } =
      deps;
    const { directory } = databases;
    const { databaseClock, adminPools } = accounting;
    const gatewayUrl = () => ownUrl(app, settings.current.config.server);
    this.notices = new Notices({
      ...deps,
      databaseClock,
      adminPools,
      publicUrl: () => settings.current.config.server.publicUrl ?? gatewayUrl(),
      options: options.notices ?? {},
    });
    this.notices.start();
    const pool = requestPool(directory.pool('admin'));
    const changes = createChangesStore(pool);
    const log = createAuditLog({ store: changes, clock, ids, logger });
    const people = createPeople({
      ...deps,
      directory,
      config: () => settings.current.config,
      ownUrl: gatewayUrl,
      deliverLink: this.notices.deliverLink,
      countMail: this.notices.countMail,
      hasMail: this.notices.hasMail,
      recordReset: resetRecorder(log),
    });
    this.#resets = people.resets;
    const { catalog } = deps;
    const revisions = createRevisionStore(pool, { leadMs: options.revisionLeadMs });
    this.reloadLog = new ReloadLog({ log, revisions, catalog, nodeId, logger });
    const reader = new CatalogReader(catalog, { isServing: true });
    const housekeeping = directory.pool('housekeeping');
    this.priceSource = createPriceSource({
      node: nodeId,
      pool: housekeeping,
      revisions: createRevisionStore(housekeeping, { leadMs: options.revisionLeadMs }),
      reader,
      nodeCatalog: catalog,
      config: () => settings.current.config,
      onEnd: reportReads(log, this.notices.notify),
      logger,
      options: options.priceSource,
    });
    this.#priceSourceJob = createPriceSourceJob(this.priceSource, logger, options.priceSource);
    // One worker of a node is enough.
    if (deps.part.index === 0) this.#priceSourceJob.start();
    const adminTokens = createAdminTokensStore(pool);
    this.#tokenReader = createAdminTokenReader({
      tokens: adminTokens,
      uses: createAdminTokensStore(housekeeping),
      clock,
    });
    this.guard = createGuard(
      {
        tokens: options.adminTokens,
        localToken: options.localToken ?? null,
        readers: [
          async ({ bearer }) => (bearer === null ? null : this.#tokenReader.read(bearer)),
          keyReader({ keyStatuses: accounting.admin.keyStatuses, isMember: people.isMember, addresses, clock }),
          people.sessionReader,
        ],
      },
      { addresses, throttle },
    );
    const watch: ManagementWatch = {
      addresses,
      throttle,
      changes: log,
      changeCounts: guesses.changes,
      onChange: logChange(logger),
      checksResponses: options.checksResponses ?? false,
      ...tenantLimits(deps.part),
      bodyBudgets: deps.bodyBudgets,
    };
    const adminParts = createAdminParts({
      people,
      stores: accounting.admin,
      directory,
      settings: () => settings.current,
      adminTokens,
      changes,
      principals: deps.principals,
      health: deps.health,
      nodeId,
      nodeCatalog: catalog,
      revisions,
      catalogReader: reader,
      priceSource: this.priceSource,
      webhooks: this.notices.webhooks,
      lowBalanceNano: this.notices.lowBalanceNano,
      notify: orLogged(this.notices.notify, logger),
      drains: accounting.drains,
      ...createSealedSecretParts(pool, options.sealingKeys ?? (() => []), () => settings.current.config),
      testProvider: (name, asked) => testProviderOf(settings.current, name, asked, clock),
      searchDialect: (name, model) => searchDialectOf(settings.current, name, model, clock),
      listProviderModels: (name) => modelsOf(settings.current, name),
      configStatus: () => deps.configLoads.status,
      unpricedUses: () => deps.unpricedUses.list(),
      limits: () => settings.current.limits?.subjects ?? [],
      credentialsOf: ({ providerId, providerModel }) =>
        settings.current.providers.get(providerId).credentials.status(providerModel, clock.nowMs()),
      clock,
      ids,
      databaseNowMs: () => accounting.databaseNowMs(accounting.admin),
      periods: accounting.periods,
      auditLedger: (given) => orRefused(auditLedger(databases, { ...given, pace: systemPace() })),
    });
    const accountParts = { ...adminParts, voucherGuesses: guesses.vouchers, owners: ownersOf(adminParts) };
    registerAdmin(app, adminParts, this.guard, watch);
    registerAccount(app, { ...people, ...accountParts }, this.guard, watch);
    registerPeople(app, people, this.guard, watch);
    registerConsole(app, {
      settings: () => settings.current.config,
      prices: createPublicPrices(() => settings.current, clock),
    });
    registerOpenApi(app, () => ({
      publicTable: deps.publicTable,
      managementTables: [
        { name: 'Account', prefix: ACCOUNT_PREFIX, endpoints: accountTable({ ...people, ...accountParts }) },
        { name: 'People', prefix: ACCOUNT_PREFIX, endpoints: peopleTable(people) },
        { name: 'Admin', prefix: ADMIN_PREFIX, endpoints: adminTable(adminParts) },
      ],
    }));
  }

  /** Resolves when the last uses of admin tokens, the last password resets, the last reloads and the last read of the price source are recorded. */
  async stop(): Promise<void> {
    await Promise.all([this.priceSource.stop(), this.#priceSourceJob.stop()]);
    await this.#resets.stop();
    await this.#tokenReader.stop();
    await this.reloadLog.stop();
  }
}

function ownersOf({
  accounts,
  calls,
  webhooks,
}: Pick<ReturnType<typeof createAdminParts>, 'accounts' | 'calls' | 'webhooks'>): AccountApiDependencies['owners'] {
  return {
    async key(id) {
      const key = await accounts.findKey(id);
      return key && { accountId: key.accountId, userId: key.userId };
    },
    async webhook(id) {
      const endpoint = await webhooks.find(id);
      return endpoint?.accountId == null ? null : { accountId: endpoint.accountId, userId: null };
    },
    async call(id) {
      const call = await calls.find(id);
      const key = call && (await accounts.findKey(call.keyId));
      return call && { accountId: call.accountId, userId: key?.userId ?? null };
    },
  };
}

/** Returns a function that records password resets in the audit log. Nobody has signed in, so a visitor is the actor. */
function resetRecorder(log: AuditLog): RecordReset {
  return async (userId, source, work) => {
    const actor = changeActor({ kind: 'visitor' }, null);
    const asked = { method: 'POST', path: `${ACCOUNT_PREFIX}/password-resets`, action: 'password-resets.create' };
    const subject = { subjectKind: 'user', subjectId: userId, accountId: null };
    const open = await log.begin({ actor, ...asked, ...subject, before: null, ...source });
    const link = await work().catch(async (error: unknown) => {
      await open.failed('internal_error');
      throw error;
    });
    if (link === null) await open.withdraw();
    else await open.done({ actor, ...subject, after: { expiresAt: link.expiresAt.toISOString() } });
  };
}

/** Returns a function that sends a notice about a change that is made, so a failure must not fail its request. */
function orLogged(notify: Notices['notify'], logger: Logger): Notices['notify'] {
  return (notice) =>
    notify(notice).catch((error: unknown) => {
      logger.error({ err: error, kind: notice.kind }, 'failed to store a notice');
    });
}

function logChange(logger: Logger): (change: ManagementChange) => void {
  return ({ by, ...change }) => {
    const byId = 'id' in by && by.id !== null ? { byId: by.id } : {};
    logger.info({ by: by.kind, ...byId, ...change }, 'a change through the admin API');
  };
}
