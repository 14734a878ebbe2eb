import type { z } from 'zod';
import { byProtocol, type ProtocolName, protocolNames } from '../protocols/all.ts';
import { operationNames } from '../protocols/operations/all.ts';
import { dialect } from './dialect-schema.ts';
import {
  addressRange,
  allowedPart,
  amountNano,
  baseUrl,
  certificates,
  corsOrigins,
  databaseUrl,
  durationMs,
  durationOrZeroMs,
  headerValue,
  keptDayMs,
  keptOrZeroMs,
  keptWeekMs,
  listenAddress,
  listOf,
  longDurationMs,
  protocolNames as mountedNames,
  name,
  named,
  oneOf,
  password,
  port,
  proxyUrl,
  publicUrl,
  ratio,
  section,
  sender,
  sizeBytes,
  supportAddress,
  text,
  timezone,
  trueOrFalse,
  wholeNumber,
  wireName,
} from './fields.ts';
import { logo } from './logo.ts';
import { groupPrice, model, onClientAbort, plan } from './model-schema.ts';
import { oidcProvider } from './oidc.ts';
import { priceSource } from './price-source-schema.ts';
import { CREDENTIALS_MAX, providerCredential } from './provider-credentials.ts';

export type { CostConfig, PricesOfDayConfig, RunPricesConfig, UnitPricesConfig } from './model-schema.ts';

/**
 * This file has the schema of the configuration. Parsed values have units: money in nano-yuan, time in milliseconds, sizes in bytes.
 * `rules.ts` has rules between values. Every option has a description, from which `docs/configuration-reference.md` is generated.
 */

const MOUNT_TEXTS: Readonly<Record<ProtocolName, string>> = {
  chat: 'Names of the chat protocol in headers and the catalog. The catalog uses only the first name.',
  messages: 'Names of the messages protocol in paths, headers and the catalog. The catalog uses only the first name.',
};

const server = section({
  host: text.default('127.0.0.1').describe('Address to listen on. `0.0.0.0` is every IPv4 address of the machine.'),
  port: port.default(8080).describe('Port to listen on. 0 picks a free port.'),
  publicUrl: publicUrl
    .optional()
    .describe('Public address of the gateway, for links and cookies. Default: the address of each request.'),
  metrics: listenAddress
    .optional()
    .describe('Address that serves `/metrics` and the health endpoints without a token. Default: none.'),
  bodyLimit: sizeBytes.default(64 * 2 ** 20).describe('Largest JSON request body, after decompression.'),
  editBodyLimit: sizeBytes.default(805 * 2 ** 20).describe('Largest upload for an image edit.'),
  bodyMemory: sizeBytes
    .optional()
    .describe(
      'Memory for all request bodies together. Unsent responses may use three quarters of it. Default: a quarter of the available memory.',
    ),
  uploadDisk: sizeBytes
    .optional()
    .describe('Disk space for all uploads together. Default: half of the free space, at most 8 GiB.'),
  protocolNames: section(
    byProtocol(({ name: protocol, defaultMounts }) =>
      mountedNames.default([...defaultMounts]).describe(MOUNT_TEXTS[protocol]),
    ),
  ).prefault({}),
  messagesContext: oneOf(['coding', 'balance'])
    .default('coding')
    .describe(
      'Whether calls to `/NAME/v1/messages`, where NAME is a name of the messages protocol, use the Coding Plan or the balance.',
    ),
  cors: section({
    origins: corsOrigins
      .default([])
      .describe('Origins of web pages that may call the gateway from a browser. `*` allows every page.'),
  }).prefault({}),
  callHeaders: trueOrFalse
    .default(true)
    .describe('Whether responses include `x-faregate-*` headers with the charge and the remaining balance or quota.'),
  sseKeepAlive: durationMs
    .optional()
    .describe('Sends a comment on a stream that was silent for this long. Default: never.'),
  drainDelay: durationOrZeroMs
    .default(5_000)
    .describe('How long the node keeps serving after SIGTERM while `/readyz` returns 503. SIGINT skips this delay.'),
  shutdownTimeout: durationOrZeroMs
    .default(30_000)
    .describe('How long calls in flight may continue after the drain delay.'),
  uploadIdleTimeout: durationMs.default(30_000).describe('How long an upload may make no progress.'),
  headerTimeout: durationMs.default(60_000).describe('How long a client may take to send the headers of a request.'),
  clientStallTimeout: durationMs
    .default(300_000)
    .describe(
      'How long a client may leave a response unread. The time shrinks with the number of unread bytes, down to one thirtieth.',
    ),
  connections: wholeNumber(1, 1_000_000)
    .default(20_000)
    .describe('Maximum number of client connections. Further connections are closed at once.'),
  connectionsPerAddress: wholeNumber(1, 1_000_000)
    .optional()
    .describe('Maximum number of connections from one address. Default: half of `connections`.'),
  trustedProxies: listOf('addresses or ranges such as 10.0.0.0/8', addressRange)
    .default([])
    .describe('Reverse proxies whose `X-Forwarded-For` header is trusted.'),
});

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

/** A provider. It has either `apiKey` or `apiKeys` (`rules.ts`). */
const provider = section({
  protocol: oneOf(protocolNames).describe('API that the provider implements.'),
  baseUrl: baseUrl.describe("Base URL, as for the vendor's own SDK."),
  apiKey: providerCredential
    .optional()
    .describe('Credential, `{ file: PATH }`, or `{ secret: NAME }` for a sealed secret. Secret.'),
  apiKeys: listOf('at least one credential', providerCredential, 1)
    .refine((keys) => keys.length <= CREDENTIALS_MAX, { error: `a list of at most ${CREDENTIALS_MAX} credentials` })
    .optional()
    .describe('Several credentials of one account at the vendor, used in rotation, in place of `apiKey`. Secret.'),
  vendor: wireName
    .optional()
    .describe('Prefix of the version and beta headers that the provider expects, such as `anthropic`.'),
  auth: oneOf(['bearer', 'x-api-key'])
    .optional()
    .describe('Header for the credential. Default: `bearer` for chat, `x-api-key` for messages.'),
  timeouts: section({
    connect: durationMs.default(10_000).describe('Timeout for connecting.'),
    firstByte: durationMs.default(600_000).describe('Timeout for the first byte of a response.'),
    idle: durationMs.default(300_000).describe('Timeout between two bytes of a stream.'),
  }).prefault({}),
  connections: wholeNumber(1, 100_000)
    .default(1024)
    .describe('Maximum number of calls in flight. With HTTP/1.1, each uses a connection of its own.'),
  queue: section({
    length: wholeNumber(0, 100_000).default(1024).describe('Calls that may wait for a connection.'),
    wait: durationMs.default(10_000).describe('Longest wait of a call in the queue.'),
  }).prefault({}),
  sharedState: oneOf(['own', 'pass'])
    .default('own')
    .describe(
      'Who may refer to state that the provider keeps: `own`, the account whose responses contained it; `pass`, every account.',
    ),
  allows: listOf('names such as tools.x_search or tools.openrouter:*', allowedPart)
    .default([])
    .describe('Unknown tools and tool fields that may be sent to the provider, by the names in the error message.'),
  unknownTools: oneOf(['refuse', 'pass'])
    .default('refuse')
    .describe('Whether unknown tools and tool fields that `allows` does not list are refused or passed on.'),
  missingUsage: oneOf(['refuse', 'estimate'])
    .default('refuse')
    .describe(
      'What to do with a non-streaming response whose usage is missing or implausible. Streams are always estimated; compactions and images are always refused.',
    ),
  cacheTokens: oneOf(['auto', 'excluded'])
    .default('auto')
    .describe(
      'Whether the input that a chat provider reports excludes cached tokens. `auto` derives it from the reported figures.',
    ),
  traceContext: oneOf(['off', 'pass'])
    .default('off')
    .describe('Whether the provider receives the W3C trace context (`traceparent`, `tracestate`) of calls.'),
  headers: named('header names', headerValue)
    .default({})
    .describe('Headers of every request to the provider. They may be secret.'),
  proxy: proxyUrl.default('').describe('HTTP proxy that tunnels connections to the provider. Empty: none.'),
  http2: trueOrFalse.default(false).describe('Offers HTTP/2 to the provider.'),
  ca: certificates
    .optional()
    .describe('Certificate authorities to trust for the provider, in place of the default ones.'),
  serves: listOf('at least one operation', oneOf(operationNames), 1)
    .optional()
    .describe(
      'Operations that the provider serves. Default: all of its protocol. Others need a route with `translate`.',
    ),
  dialect: dialect.optional().describe('How translated requests are written for the provider (`docs/translation.md`).'),
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
