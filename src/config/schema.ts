import type { z } from 'zod';
import { fallbackKeys } from './attempt-schema.ts';
import { credentialCommand } from './credential-commands.ts';
import {
  addressRange,
  amountNano,
  baseUrl,
  certificates,
  databaseUrl,
  durationMs,
  durationOrZeroMs,
  headerValue,
  keptDayMs,
  keptOrZeroMs,
  keptWeekMs,
  listOf,
  longDurationMs,
  name,
  named,
  oneOf,
  password,
  port,
  ratio,
  section,
  sender,
  sizeBytes,
  supportAddress,
  text,
  timezone,
  trueOrFalse,
  wholeNumber,
} from './fields.ts';
import { logo } from './logo.ts';
import { groupPrice, model, onClientAbort, plan } from './model-schema.ts';
import { oidcProvider } from './oidc.ts';
import { priceSource } from './price-source-schema.ts';
import { provider } from './provider-schema.ts';
import { server } from './server-schema.ts';

export type { CostConfig, PricesOfDayConfig, RunPricesConfig, UnitPricesConfig } from './model-schema.ts';

/**
 * This file has the schema of the configuration. Parsed values have units: money in nano-yuan, time in milliseconds, sizes in bytes.
 * `rules.ts` has rules between values. Every option has a description, from which `docs/configuration-reference.md` is generated.
 */

/** Maximum number of partitions; `db/partitions.ts` has the same limit. */
const PARTITIONS_MAX = 100;

const database = section({
  url: databaseUrl
    .default('')
    .describe(
      'Address of a PostgreSQL server, version 15 or later. Empty: the gateway starts a local server in `dataDir`.',
    ),
  dataDir: text
    .default('./data')
    .describe('Directory of the local database and of the journal. It must survive restarts, even if `url` is set.'),
  binaries: text
    .optional()
    .describe(
      'Directory with `initdb` and `postgres` for the local server. Default: the PostgreSQL installed with Faregate.',
    ),
  partitions: wholeNumber(1, PARTITIONS_MAX)
    .default(1)
    .describe('Number of partitions for accounts. The gateway creates missing partitions and never removes one.'),
});

const seller = section({
  name: name.describe('Name of the company.'),
  taxNumber: name.optional().describe('Tax number of the company.'),
  address: name.optional().describe('Address of the company.'),
  logo: logo.optional().describe('PNG or SVG file of at most 256 KiB, shown on statements and receipts.'),
});

const billing = section({
  seller: seller.optional().describe('Who issues statements and receipts. Default: they name nobody.'),
  dailySpendCapYuan: amountNano
    .optional()
    .describe('Maximum daily spend of an account without a cap of its own. Default: no cap.'),
  timezone: timezone.default('Asia/Shanghai').describe('Time zone of the billing day.'),
  onClientAbort: onClientAbort
    .default('cancel')
    .describe("What to do with the provider's stream when the client disconnects. Used tokens are charged either way."),
});

const log = section({
  requests: oneOf(['all', 'refused', 'none']).default('all').describe('Which requests are logged.'),
  format: oneOf(['json', 'pretty'])
    .optional()
    .describe('Log format. Default: `pretty` if standard error is a terminal, otherwise `json`.'),
});

const tracing = section({
  endpoint: baseUrl.describe('Collector that receives spans of calls by OTLP over HTTP. `/v1/traces` is appended.'),
  serviceName: name.default('faregate').describe('Service name in traces.'),
  headers: named('header names', headerValue).default({}).describe('Headers of every export. They may be secret.'),
  sampleRatio: ratio.default(1).describe('Share of calls to trace if the client made no sampling decision.'),
});

const DAY_MS = 86_400_000;

/** Retention times (`docs/operations/retention.md`). */
const retention = section({
  calls: keptDayMs
    .optional()
    .describe('How long call records are kept. Records are dropped by whole months. Default: forever.'),
  refusals: keptOrZeroMs.default(30 * DAY_MS).describe('How long refused requests are kept. 0 records none.'),
  changes: keptDayMs.default(400 * DAY_MS).describe('How long entries of the audit log are kept.'),
  /** At least a week, because deliveries are retried for almost seven days. */
  notices: keptWeekMs.default(30 * DAY_MS).describe('How long notices and their deliveries are kept.'),
  latency: keptDayMs.default(100 * DAY_MS).describe('How long hourly latency figures of routes are kept.'),
});

/** Message for the option `keepDays` of earlier versions. */
const keptAs = (name: keyof typeof retention.shape, example: string): string =>
  `keepDays was renamed. Use retention.${name} with a duration such as ${example}.`;

const people = section({
  sessionIdle: longDurationMs.default(7 * DAY_MS).describe('How long a session lasts without a request.'),
  sessionMax: longDurationMs.default(30 * DAY_MS).describe('Maximum duration of a session.'),
});

/** Notices (`docs/notices.md`). */
const notices = section(
  {
    lowBalanceYuan: amountNano
      .optional()
      .describe(
        'Notifies an account when its balance falls below this. Default: only accounts with their own threshold.',
      ),
    planPercents: listOf('percentages from 1 to 100', wholeNumber(1, 100))
      .default([80, 100])
      .describe(
        "Notifies the subscriber of a plan when these percentages of the period's tokens, the week's calls, or the calls of five hours are used.",
      ),
    budgetPercents: listOf('percentages from 1 to 100', wholeNumber(1, 100))
      .default([80, 100])
      .describe(
        'Notifies owners, members and the owners of keys when these percentages of a budget or of the daily spend cap are used. `[]`: no such notices.',
      ),
    language: oneOf(['en', 'zh'])
      .default('en')
      .describe('Language of notices by mail, and to messengers whose endpoint has no language of its own.'),
    routeDownAfter: durationMs.default(60_000).describe('Notifies operators when a route was down for this long.'),
    allowNetworks: listOf('addresses or ranges such as 10.0.0.0/8', addressRange)
      .default([])
      .describe(
        'Private networks that webhooks and the price source may reach, over http too. The public internet is always allowed, by https.',
      ),
  },
  { keepDays: keptAs('notices', '30d') },
);

const mail = section({
  smtp: section({
    host: name.describe('Mail server. Without the section `mail`, no mail is sent.'),
    port: port.default(587).describe('Port of the mail server.'),
    tls: oneOf(['starttls', 'implicit', 'none']).default('starttls').describe('How the connection is encrypted.'),
    user: name.optional().describe('User name at the mail server.'),
    password: password.optional().describe('Password of the user. Secret.'),
    ca: certificates
      .optional()
      .describe('Certificate authorities to trust for the server, in place of the default ones.'),
  }),
  from: sender.describe('Sender of mail.'),
});

/** What people see in place of the name Faregate (`docs/operations/branding.md`). */
const branding = section({
  name: name.optional().describe('Name on sign-in, in the header and title of pages, and in mails. Default: Faregate.'),
  logo: logo.optional().describe('PNG or SVG file of at most 256 KiB, shown next to the name.'),
  supportAddress: supportAddress
    .optional()
    .describe('E-mail or https address for questions, shown below pages, with errors and in mails.'),
});

const consolePages = section({
  pricing: trueOrFalse
    .default(false)
    .describe('Whether `/pricing` shows the listed models with their prices to everybody, without sign-in.'),
});

const routing = section({
  breaker: section({
    failures: wholeNumber(1, 1_000_000)
      .default(5)
      .describe('Consecutive failures after which a route is taken out of service.'),
    probeAfter: durationMs.default(10_000).describe('How long a route stays out of service before one call probes it.'),
  }).prefault({}),
});

const recording = section({
  clientAddress: trueOrFalse.default(false).describe('Whether the record of a call has the address of the client.'),
  program: trueOrFalse.default(false).describe('Whether it has the program, by the `User-Agent` header.'),
  endUser: trueOrFalse.default(false).describe('Whether it has the end user whom the request names.'),
});

const idempotency = section({
  keepFor: durationOrZeroMs
    .default(24 * 3_600_000)
    .describe('How long a repeat with the same `Idempotency-Key` gets the stored response. 0s ignores the header.'),
  answerLimit: sizeBytes.default(2 ** 20).describe('Largest response that is stored.'),
  accountLimit: sizeBytes.default(64 * 2 ** 20).describe('Maximum size of all stored responses of an account.'),
});

const minute = (who: string) => ({
  requestsPerMinute: wholeNumber(1, 1_000_000_000).optional().describe(`Requests per minute of each account ${who}.`),
  tokensPerMinute: wholeNumber(1, 1_000_000_000).optional().describe(`Tokens per minute of each account ${who}.`),
});

const limits = section({
  ...minute('without a limit of its own'),
  models: named('model names', section(minute('for this model'))).default({}),
});

/** A group of accounts whose prices and limits differ from those of others. */
const group = section({
  name: name.describe('Display name.'),
  models: listOf('at least one model', text, 1).optional().describe('Models that accounts may use. Default: all.'),
  providers: listOf('at least one provider', text, 1)
    .optional()
    .describe('Providers that serve calls of these accounts. Default: all.'),
  priceFactorBasisPoints: wholeNumber(0, 100_000)
    .default(10_000)
    .describe('Share of the price that accounts without a price factor of their own pay; 8000 is 80 %.'),
  ...fallbackKeys,
  fallbacks: fallbackKeys.fallbacks.describe(
    'Models that serve calls of these accounts, in this order, if no route of the requested model does and it has no `fallbacks`.',
  ),
  prices: named('model names', groupPrice)
    .default({})
    .describe('Prices that replace those of the models, with the keys of `price`.'),
  limits: section({
    ...minute('of the group without a limit of its own'),
    dailySpendCapYuan: amountNano.optional().describe('Maximum daily spend of an account without a cap of its own.'),
  }).prefault({}),
});

/**
 * Sections that operators change while the gateway runs. With `catalog: database`, they are in the database
 * (`docs/decisions/0081-catalog-revisions.md`).
 */
export const CATALOG_SECTIONS = ['billing', 'limits', 'providers', 'models', 'plans', 'groups', 'priceSource'] as const;

export const configSchema = section(
  {
    server: server.prefault({}),
    database: database.prefault({}),
    billing: billing.prefault({}),
    catalog: oneOf(['file', 'database'])
      .default('file')
      .describe(
        'Where `billing`, `limits`, `providers`, `models`, `plans`, `groups` and `priceSource` are: in this file, or in the database, where people edit them.',
      ),
    initialCatalog: text
      .optional()
      .describe(
        'With `catalog: database`: a file with these sections, relative to this file. It becomes the first revision at the start of a gateway whose ' +
          'database has none, and is not read otherwise.',
      ),
    routing: routing.prefault({}),
    idempotency: idempotency.prefault({}),
    /** `docs/callers.md` */
    recording: recording.prefault({}),
    log: log.prefault({}),
    retention: retention.prefault({}),
    people: people.prefault({}),
    notices: notices.prefault({}),
    mail: mail.optional(),
    branding: branding.prefault({}),
    console: consolePages.prefault({}),
    /** OpenID providers for signing in (`docs/openid-connect.md`). */
    oidc: named('OpenID provider names', oidcProvider).default({}),
    tracing: tracing.optional(),
    /** `docs/providers.md` */
    credentialCommands: named('command names', credentialCommand).default({}),
    providers: named('provider names', provider).default({}),
    models: named('model names', model).default({}),
    plans: named('plan names', plan).default({}),
    limits: limits.prefault({}),
    groups: named('group names', group).default({}),
    /** `docs/operations/catalog.md` */
    priceSource: priceSource.optional(),
  },
  { refusals: keptAs('refusals', '30d'), changes: keptAs('changes', '400d') },
);

export type Config = z.infer<typeof configSchema>;
export type TracingConfig = NonNullable<Config['tracing']>;
export type ProviderConfig = Config['providers'][string];
export type ModelConfig = Config['models'][string];
export type GroupConfig = Config['groups'][string];
