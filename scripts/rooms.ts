/**
 * The rooms of `src`, from top to bottom: a file may import from its own room and from those below. Of another room only the
 * files that it shows may be used. `scripts/check-imports.ts` enforces the rules, `docs/architecture.md` explains them.
 */
export interface Room {
  readonly name: string;
  readonly owns: string;
  readonly shows: readonly Shown[];
}

export interface Shown {
  readonly files: readonly string[];
  /** Which rooms may use them; all rooms above where it is absent. */
  readonly only?: readonly string[];
  /** What the others do instead. */
  readonly mend?: string;
}

export interface Exception {
  readonly from: string;
  readonly to: string;
  readonly reason: string;
}

export const EXCEPTIONS: readonly Exception[] = [
  {
    from: 'accounting/accounts/principals.ts',
    to: 'db/database.ts',
    reason: 'hears of revoked keys, whose cache it keeps',
  },
];

const WIRING = ['app/*.ts', 'cli/*.ts'];
const SERVERS = ['app/*.ts', 'api/**/*.ts'];

export const ROOMS: readonly Room[] = [
  {
    name: 'main',
    owns: 'The process: runs the command line.',
    shows: [],
  },
  {
    name: 'cli',
    owns: 'The command line, and the demo that it starts.',
    shows: [
      {
        files: ['cli/program.ts'],
      },
    ],
  },
  {
    name: 'app',
    owns: 'Wiring: starts the gateway, recovers what an earlier process left, keeps it maintained.',
    shows: [
      {
        files: ['app/gateway.ts', 'app/local-admin.ts', 'app/provider-tester.ts'],
      },
    ],
  },
  {
    name: 'telemetry',
    owns: 'What a node shows of itself to machines: metrics, counted from reports of requests and read from its parts.',
    shows: [
      {
        files: ['telemetry/event-loop.ts', 'telemetry/metrics.ts', 'telemetry/node-figures.ts', 'telemetry/traces.ts'],
      },
    ],
  },
  {
    name: 'api',
    owns: 'HTTP addresses: the public endpoints, the free queries, the admin API, the account API.',
    shows: [
      {
        files: [
          'api/account/register.ts',
          'api/admin/accounts.ts',
          'api/admin/audit.ts',
          'api/admin/client.ts',
          'api/admin/export.ts',
          'api/admin/key-body.ts',
          'api/admin/providers.ts',
          'api/admin/register.ts',
          'api/endpoints/aliases.ts',
          'api/endpoints/refusals.ts',
          'api/endpoints/register.ts',
          'api/endpoints/table.ts',
          'api/endpoints/unknown-address.ts',
          'api/management/guard.ts',
          'api/management/issue-text.ts',
          'api/management/key-reader.ts',
          'api/management/serve.ts',
          'api/metrics.ts',
          'api/queries/query.ts',
          'api/request-report.ts',
        ],
      },
    ],
  },
  {
    name: 'people',
    owns: 'Who asks the admin API and the account API for something, and what that may be.',
    shows: [
      {
        files: [
          'people/access.ts',
          'people/actor.ts',
          'people/admin-token-reader.ts',
          'people/admin-token.ts',
          'people/admin-tokens-store.ts',
        ],
      },
    ],
  },
  {
    name: 'notices',
    owns: 'What accounts and operators are told of, and how it gets to them: events, webhooks, mail.',
    shows: [
      {
        files: [
          'notices/delivery-store.ts',
          'notices/dispatcher.ts',
          'notices/endpoint-store.ts',
          'notices/finder.ts',
          'notices/mail-sender.ts',
          'notices/node-watch.ts',
          'notices/notice-store.ts',
          'notices/notice.ts',
          'notices/target.ts',
          'notices/webhook-sender.ts',
          'notices/webhooks.ts',
        ],
      },
    ],
  },
  {
    name: 'calls',
    owns: 'A call from its checked request to its last byte: admission, relay, idempotent repeats.',
    shows: [
      {
        files: [
          'calls/admission-queue.ts',
          'calls/admission.ts',
          'calls/allowed-models.ts',
          'calls/call-report.ts',
          'calls/call-request.ts',
          'calls/call-trace.ts',
          'calls/call.ts',
          'calls/endpoint-policy.ts',
          'calls/idempotency/idempotent-call.ts',
          'calls/look.ts',
          'calls/prepared-call.ts',
          'calls/provider-test.ts',
          'calls/relay/call-headers.ts',
          'calls/relay/client-abort.ts',
          'calls/relay/client.ts',
          'calls/request-workers.ts',
          'calls/settings.ts',
          'calls/unpriced-uses.ts',
        ],
      },
    ],
  },
  {
    name: 'providers',
    owns: 'Which provider serves a model, whether it is healthy, and the exchange with it.',
    shows: [
      {
        files: [
          'providers/catalog/catalog.ts',
          'providers/catalog/public-catalog.ts',
          'providers/routing/choose.ts',
          'providers/routing/health.ts',
          'providers/upstream/answer-kind.ts',
          'providers/upstream/exchange.ts',
          'providers/upstream/failure.ts',
          'providers/upstream/headers.ts',
          'providers/upstream/credentials.ts',
          'providers/upstream/provider.ts',
          'providers/upstream/refusal.ts',
          'providers/upstream/rest.ts',
          'providers/upstream/secrets.ts',
        ],
      },
    ],
  },
  {
    name: 'accounting',
    owns: 'Who may use what, what is used, what it costs, and the proof: accounts, ledger, prices, plans, reservations, settlement.',
    shows: [
      {
        files: [
          'accounting/accounts/allow-lists.ts',
          'accounting/accounts/api-key-store.ts',
          'accounting/accounts/key-format.ts',
          'accounting/accounts/key-limit-store.ts',
          'accounting/accounts/key-owner-store.ts',
          'accounting/accounts/key-replacement-store.ts',
          'accounting/accounts/key-scopes.ts',
          'accounting/accounts/key-search-store.ts',
          'accounting/accounts/key-use-store.ts',
          'accounting/accounts/key-uses.ts',
          'accounting/accounts/principals.ts',
          'accounting/accounts/rate-limit-store.ts',
          'accounting/accounts/standing-store.ts',
          'accounting/accounts/store.ts',
          'accounting/database-questions.ts',
          'accounting/database-time.ts',
          'accounting/drains/drain-store.ts',
          'accounting/drains/drain.ts',
          'accounting/drains/drains.ts',
          'accounting/ledger/audit-store.ts',
          'accounting/ledger/call-id.ts',
          'accounting/ledger/call-index-store.ts',
          'accounting/ledger/call-outcome.ts',
          'accounting/ledger/calls-store.ts',
          'accounting/ledger/ledger-store.ts',
          'accounting/ledger/refund-store.ts',
          'accounting/ledger/refund.ts',
          'accounting/nodes/database-clock.ts',
          'accounting/nodes/nodes.ts',
          'accounting/nodes/store.ts',
          'accounting/plans/plan.ts',
          'accounting/plans/snapshot.ts',
          'accounting/plans/subscription-state-store.ts',
          'accounting/plans/subscriptions-store.ts',
          'accounting/pricing/bounds.ts',
          'accounting/pricing/charge-basis.ts',
          'accounting/pricing/charge.ts',
          'accounting/pricing/local-time.ts',
          'accounting/pricing/model-usage.ts',
          'accounting/pricing/price-factor.ts',
          'accounting/pricing/price.ts',
          'accounting/pricing/priced-by.ts',
          'accounting/pricing/step-shares.ts',
          'accounting/pricing/token-rates.ts',
          'accounting/probe-store.ts',
          'accounting/refusals/refusal-recorder.ts',
          'accounting/refusals/refusal.ts',
          'accounting/refusals/refusals-store.ts',
          'accounting/reservations/call-facts.ts',
          'accounting/reservations/in-flight-store.ts',
          'accounting/reservations/limits/daily-cap.ts',
          'accounting/reservations/rate-defaults.ts',
          'accounting/reservations/reservation.ts',
          'accounting/reservations/reservations.ts',
          'accounting/reservations/store.ts',
          'accounting/settlement/continuation-key-store.ts',
          'accounting/settlement/continuation-keys.ts',
          'accounting/settlement/database-settlement.ts',
          'accounting/settlement/disk.ts',
          'accounting/settlement/journal.ts',
          'accounting/settlement/recovery.ts',
          'accounting/settlement/resolution-store.ts',
          'accounting/settlement/resolution.ts',
          'accounting/settlement/settlement-record.ts',
          'accounting/settlement/settlement.ts',
          'accounting/settlement/store.ts',
          'accounting/settlement/stored-response-budget.ts',
          'accounting/settlement/stored-response-store.ts',
          'accounting/settlement/stored-response.ts',
          'accounting/settlement/stored-responses.ts',
          'accounting/transfer/export-store.ts',
          'accounting/transfer/export.ts',
          'accounting/transfer/format.ts',
          'accounting/transfer/import-store.ts',
          'accounting/transfer/import.ts',
          'accounting/transfer/tables.ts',
          'accounting/usage/month.ts',
          'accounting/usage/rollup-store.ts',
          'accounting/usage/rollups.ts',
          'accounting/usage/statement-store.ts',
          'accounting/usage/usage-store.ts',
          'accounting/usage/usage.ts',
        ],
      },
    ],
  },
  {
    name: 'config',
    owns: 'The configuration file: read, checked, watched.',
    shows: [
      {
        files: [
          'config/load.ts',
          'config/loads.ts',
          'config/price-warnings.ts',
          'config/provider-credentials.ts',
          'config/schema.ts',
          'config/suggest.ts',
          'config/shown.ts',
          'config/template.ts',
          'config/units.ts',
          'config/watch.ts',
        ],
      },
    ],
  },
  {
    name: 'protocols',
    owns: 'What the vendors’ protocols mean: streams, usage, token estimates, images.',
    shows: [
      {
        files: [
          'protocols/all.ts',
          'protocols/chat/errors.ts',
          'protocols/chat/protocol.ts',
          'protocols/messages/errors.ts',
          'protocols/messages/protocol.ts',
          'protocols/metering/answer.ts',
          'protocols/metering/charge-options.ts',
          'protocols/metering/output-speed.ts',
          'protocols/metering/service-terms.ts',
          'protocols/metering/tap.ts',
          'protocols/metering/usage-facts.ts',
          'protocols/metering/usage-units.ts',
          'protocols/operations/all.ts',
          'protocols/operations/chat.ts',
          'protocols/operations/compact.ts',
          'protocols/operations/count-tokens.ts',
          'protocols/operations/embeddings.ts',
          'protocols/operations/estimate.ts',
          'protocols/operations/fields.ts',
          'protocols/operations/image-edit.ts',
          'protocols/operations/image-generation.ts',
          'protocols/operations/input-tokens.ts',
          'protocols/operations/messages.ts',
          'protocols/operations/operation.ts',
          'protocols/operations/rerank.ts',
          'protocols/operations/responses.ts',
          'protocols/plan-windows.ts',
          'protocols/protocol.ts',
          'protocols/rate-standing.ts',
          'protocols/responses/errors.ts',
          'protocols/state-references.ts',
          'protocols/token-estimate/budgets.ts',
          'protocols/token-estimate/count-body.ts',
          'protocols/token-estimate/families.ts',
          'protocols/token-estimate/tokenizer.ts',
        ],
      },
    ],
  },
  {
    name: 'http',
    owns: 'The server: bodies, connections, credentials, before anything knows what a call is.',
    shows: [
      {
        files: [
          'http/body-budgets.ts',
          'http/body.ts',
          'http/client-address.ts',
          'http/cors.ts',
          'http/credentials.ts',
          'http/health.ts',
          'http/http-report.ts',
          'http/idempotency-key.ts',
          'http/listening.ts',
          'http/refusal-brake.ts',
          'http/served-addresses.ts',
          'http/server.ts',
          'http/spool.ts',
          'http/unknown-addresses.ts',
        ],
        only: SERVERS,
        mend: 'Take what you need as an argument, so that this part works without a request.',
      },
    ],
  },
  {
    name: 'db',
    owns: 'One SQL dialect on two engines.',
    shows: [
      {
        files: ['db/errors.ts'],
      },
      {
        files: ['db/columns.ts', 'db/database.ts', 'db/reads.ts'],
        only: ['accounting/**/*store.ts', 'people/**/*store.ts', 'notices/**/*store.ts', ...WIRING],
        mend: 'Put the SQL into the store of its domain.',
      },
      {
        files: ['db/table.ts'],
        only: ['accounting/**/*store.ts', 'accounting/**/tables.ts'],
        mend: 'List the columns of a table in its domain.',
      },
      {
        files: [
          'db/data-dir.ts',
          'db/identity.ts',
          'db/migrate.ts',
          'db/network-file-system.ts',
          'db/open.ts',
          'db/private-directory.ts',
          'db/server-facts.ts',
        ],
        only: WIRING,
        mend: 'Take what you need as an argument.',
      },
    ],
  },
  {
    name: 'errors',
    owns: 'The catalog of errors and their envelopes.',
    shows: [
      {
        files: ['errors/catalogue.ts', 'errors/envelopes.ts', 'errors/gateway-error.ts', 'errors/headers.ts'],
      },
    ],
  },
  {
    name: 'lib',
    owns: 'Parts that know nothing of gateways: JSON, batches, queues, money as decimals.',
    shows: [
      {
        files: [
          'lib/background-job.ts',
          'lib/batcher.ts',
          'lib/clock.ts',
          'lib/csv.ts',
          'lib/durable-files.ts',
          'lib/event-fields.ts',
          'lib/fair-queue.ts',
          'lib/fair-turns.ts',
          'lib/folded-name.ts',
          'lib/header-parameters.ts',
          'lib/ids.ts',
          'lib/image-head.ts',
          'lib/in-time.ts',
          'lib/ip-address.ts',
          'lib/json-capture.ts',
          'lib/json-number.ts',
          'lib/json-parts.ts',
          'lib/json-reader.ts',
          'lib/json-repeats.ts',
          'lib/json-scan.ts',
          'lib/json.ts',
          'lib/logger.ts',
          'lib/multipart.ts',
          'lib/pace.ts',
          'lib/plain-text.ts',
          'lib/secret-text.ts',
          'lib/shared-reads.ts',
          'lib/shares.ts',
          'lib/slices.ts',
          'lib/sse.ts',
          'lib/timers.ts',
          'lib/trace-context.ts',
          'lib/two-phase.ts',
          'lib/version.ts',
          'lib/worker-pool.ts',
          'lib/young-garbage.ts',
          'lib/yuan.ts',
        ],
      },
    ],
  },
];
