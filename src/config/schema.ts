import type { z } from 'zod';
import { byProtocol, protocolNames } from '../protocols/all.ts';
import { type TermPriceKey, termPriceKeys } from '../protocols/metering/service-terms.ts';
import {
  type MillionPriceKey,
  type OnePriceKey,
  pricedUnits,
  type UnitPrice,
} from '../protocols/metering/usage-units.ts';
import { operationNames } from '../protocols/operations/all.ts';
import {
  addressRange,
  allowedPart,
  amountNano,
  anyText,
  baseUrl,
  certificates,
  corsOrigins,
  databaseUrl,
  day,
  dayRange,
  durationMs,
  durationOrZeroMs,
  factor,
  headerValue,
  imagePrices,
  keptDayMs,
  keptOrZeroMs,
  keptWeekMs,
  listenAddress,
  listOf,
  longDurationMs,
  protocolNames as mountedNames,
  name,
  named,
  nameOrNone,
  oneOf,
  password,
  port,
  priceFactor,
  proxyUrl,
  publicUrl,
  ratio,
  section,
  sender,
  sizeBytes,
  text,
  timezone,
  trueOrFalse,
  wholeNumber,
  wireName,
} from './fields.ts';
import { oidcProvider } from './oidc.ts';
import { CREDENTIALS_MAX, providerCredential } from './provider-credentials.ts';

/**
 * The schema of `faregate.yaml`: what each value may be. The parsed values have units: money in nano-yuan, time in
 * milliseconds, sizes in bytes. Rules between values are in `rules.ts`.
 */

const server = section({
  host: text.default('127.0.0.1'),
  port: port.default(8080),
  /** The address that people reach the gateway at, for links and cookies; by default what the request came to. */
  publicUrl: publicUrl.optional(),
  /** Where /metrics is served without a token, beside the health addresses; nowhere by default. */
  metrics: listenAddress.optional(),
  bodyLimit: sizeBytes.default(64 * 2 ** 20),
  editBodyLimit: sizeBytes.default(805 * 2 ** 20),
  /** The memory that all bodies may take, and the disk for uploads; the defaults depend on the machine. */
  bodyMemory: sizeBytes.optional(),
  uploadDisk: sizeBytes.optional(),
  protocolNames: section(byProtocol(({ defaultMounts }) => mountedNames.default([...defaultMounts]))).prefault({}),
  messagesContext: oneOf(['coding', 'balance']).default('coding'),
  /** Origins of web pages that may call the gateway from a browser; none by default. */
  cors: section({ origins: corsOrigins.default([]) }).prefault({}),
  /** Whether responses have `x-faregate-*` headers with the charge of the call and what remains. */
  callHeaders: trueOrFalse.default(true),
  /** How long a stream may be silent before a comment is sent; absent: for ever. */
  sseKeepAlive: durationMs.optional(),
  /** How long everything is still served after SIGTERM while `/readyz` responds with 503; SIGINT does not wait. */
  drainDelay: durationOrZeroMs.default(5_000),
  /** How long calls in flight may go on after that. */
  shutdownTimeout: durationOrZeroMs.default(30_000),
  /** How long an upload may make no progress. */
  uploadIdleTimeout: durationMs.default(30_000),
  /** How long the headers of a request may take. */
  headerTimeout: durationMs.default(60_000),
  /** How long a client may leave a response unread. */
  clientStallTimeout: durationMs.default(300_000),
  /** The most connections of clients at a time. */
  connections: wholeNumber(1, 1_000_000).default(20_000),
  /** The most connections of one address at a time; half of `connections` by default. */
  connectionsPerAddress: wholeNumber(1, 1_000_000).optional(),
  /** Proxies before the gateway that name their clients in X-Forwarded-For. */
  trustedProxies: listOf('addresses or ranges such as 10.0.0.0/8', addressRange).default([]),
});

/** As many as a database can have (`db/partitions.ts`). */
const PARTITIONS_MAX = 100;

const database = section({
  /** Empty or absent: a local server that the gateway starts. */
  url: databaseUrl.default(''),
  dataDir: text.default('./data'),
  /** The directory with the programs of another PostgreSQL for the local server. */
  binaries: text.optional(),
  /** The gateway makes them at its start; those that the database has beyond are served, too. */
  partitions: wholeNumber(1, PARTITIONS_MAX).default(1),
});

/** What happens to a provider's stream after a client abort: `docs/client-aborts.md`. */
const onClientAbort = oneOf(['cancel', 'drain']);

const billing = section({
  dailySpendCapYuan: amountNano.optional(),
  timezone: timezone.default('Asia/Shanghai'),
  onClientAbort: onClientAbort.default('cancel'),
});

const log = section({
  /** Which requests have a line in the log. */
  requests: oneOf(['all', 'refused', 'none']).default('all'),
  /** Absent: pretty where standard error is a terminal. */
  format: oneOf(['json', 'pretty']).optional(),
});

/** Where spans of calls are sent by OTLP over HTTP; absent: calls are not traced. */
const tracing = section({
  /** `/v1/traces` is appended to it. */
  endpoint: baseUrl,
  serviceName: name.default('faregate'),
  /** Sent with every export. They may be secret. */
  headers: named('headers', headerValue).default({}),
  /** The share of calls that are traced among those whose client does not say. */
  sampleRatio: ratio.default(1),
});

const DAY_MS = 86_400_000;

/** How long records are kept: `docs/operations/retention.md`. */
const retention = section({
  /** Months of call records that ended longer ago are dropped; absent: none ever is. */
  calls: keptDayMs.optional(),
  /** 0: none is recorded. */
  refusals: keptOrZeroMs.default(30 * DAY_MS),
  /** Rows of the change log. */
  changes: keptDayMs.default(400 * DAY_MS),
  /** Notices and their deliveries: longer than they are tried to be delivered. */
  notices: keptWeekMs.default(30 * DAY_MS),
  /** How fast routes respond, by the hour. */
  latency: keptDayMs.default(100 * DAY_MS),
});

/** Where `keepDays` has gone. */
const keptAs = (name: keyof typeof retention.shape, example: string): string =>
  `keepDays is retention.${name} now, a duration such as ${example}.`;

const people = section({
  /** How long a session lasts without a request. */
  sessionIdle: longDurationMs.default(7 * DAY_MS),
  /** How long it lasts in all. */
  sessionMax: longDurationMs.default(30 * DAY_MS),
});

/** What accounts and operators are told of, and where it may be sent: `docs/notices.md`. */
const notices = section(
  {
    /** Below which balance an account is told of it; absent: those alone that have a threshold of their own. */
    lowBalanceYuan: amountNano.optional(),
    /** Shares of a plan's quota in percent. */
    planPercents: listOf('percents from 1 to 100', wholeNumber(1, 100)).default([80, 100]),
    /** How long a route has to be down. */
    routeDownAfter: durationMs.default(60_000),
    /** Networks that webhooks may go to beside the public internet, by http too. */
    allowNetworks: listOf('addresses or ranges such as 10.0.0.0/8', addressRange).default([]),
  },
  { keepDays: keptAs('notices', '30d') },
);

/** The server that mail goes to; absent: none is sent. */
const mail = section({
  smtp: section({
    host: name,
    port: port.default(587),
    tls: oneOf(['starttls', 'implicit', 'none']).default('starttls'),
    user: name.optional(),
    password: password.optional(),
    /** The only authorities that the server's certificate may come from, as PEM. */
    ca: certificates.optional(),
  }),
  from: sender,
});

const routing = section({
  /** When a route is taken out of service, and when it is tried again. */
  breaker: section({
    failures: wholeNumber(1, 1_000_000).default(5),
    probeAfter: durationMs.default(10_000),
  }).prefault({}),
});

const idempotency = section({
  /** How long repeats of a call with the same Idempotency-Key get its stored response; 0: the header is ignored. */
  keepFor: durationOrZeroMs.default(24 * 3_600_000),
  /** The largest response that is stored. */
  answerLimit: sizeBytes.default(2 ** 20),
  /** What all stored responses of an account may take. */
  accountLimit: sizeBytes.default(64 * 2 ** 20),
});

const provider = section({
  protocol: oneOf(protocolNames),
  baseUrl,
  /** One of these two: `rules.ts`. */
  apiKey: providerCredential.optional(),
  /** Several keys of one account at the vendor, used by turns. */
  apiKeys: listOf('at least one credential', providerCredential, 1)
    .refine((keys) => keys.length <= CREDENTIALS_MAX, { error: `a list of at most ${CREDENTIALS_MAX} credentials` })
    .optional(),
  /** Prefix of the version and beta headers that this provider expects, such as `anthropic`. */
  vendor: wireName.optional(),
  auth: oneOf(['bearer', 'x-api-key']).optional(),
  timeouts: section({
    connect: durationMs.default(10_000),
    firstByte: durationMs.default(600_000),
    idle: durationMs.default(300_000),
  }).prefault({}),
  /** The most calls under way at a time. In HTTP/1.1 each has a connection of its own. */
  connections: wholeNumber(1, 100_000).default(1024),
  /** Calls that may wait for one of those to end, and for how long. */
  queue: section({ length: wholeNumber(0, 100_000).default(1024), wait: durationMs.default(10_000) }).prefault({}),
  /**
   * Who may refer to state that this provider keeps: `own`, the account whose responses contained it; `pass`, every
   * account.
   */
  sharedState: oneOf(['own', 'pass']).default('own'),
  /** Unknown tools and members of tools that it may be sent: `tools.x_search`, `tools.mcp.headers`. */
  allows: listOf('names such as tools.x_search or tools.openrouter:*', allowedPart).default([]),
  /** What happens to all other unknown tools and members of tools. */
  unknownTools: oneOf(['refuse', 'pass']).default('refuse'),
  /** What becomes of a whole response without usage. Compaction and images are always refused; streams are estimated. */
  missingUsage: oneOf(['refuse', 'estimate']).default('refuse'),
  /**
   * Whether the input that a chat provider reports excludes the tokens of the cache: `auto`, derived from its figures; `excluded`,
   * always.
   */
  cacheTokens: oneOf(['auto', 'excluded']).default('auto'),
  /** Whether it gets the W3C trace context of calls (`traceparent`, `tracestate`). */
  traceContext: oneOf(['off', 'pass']).default('off'),
  /** Sent with every request to this provider. The names that cannot be set: `rules.ts`. */
  headers: named('headers', headerValue).default({}),
  /** Requests go through a tunnel that this proxy opens; empty: directly. */
  proxy: proxyUrl.default(''),
  /** Offers HTTP/2 to the provider. */
  http2: trueOrFalse.default(false),
  /** The only authorities that the provider's certificate may come from, as PEM. */
  ca: certificates.optional(),
});

const tokenPrices = pricesOfUnits('million') as Record<MillionPriceKey, z.ZodOptional<typeof amountNano>>;

/** The prices of tokens of a run of the model, and those that apply instead. */
const runPrices = {
  ...tokenPrices,
  /** If the provider reports that the model reasoned. */
  thinking: section(tokenPrices).optional(),
  /** If the output has more tokens than this. */
  outputAbove: named('output lengths in tokens', section(tokenPrices)).optional(),
};

/** The operations of a model decide which of these it needs: `rules.ts`. */
const unitPrices = {
  ...runPrices,
  perImage: imagePrices.optional(),
  ...(pricesOfUnits('one') as Record<OnePriceKey, z.ZodOptional<typeof amountNano>>),
  perCall: amountNano.optional(),
  /** The prices of tokens for calls whose input has more tokens than this. */
  above: named('input lengths in tokens', section(runPrices)).optional(),
  /** Factors on the prices of tokens, by what the provider reports. */
  ...(Object.fromEntries(termPriceKeys.map((key) => [key, named('terms', priceFactor).optional()])) as Record<
    TermPriceKey,
    z.ZodOptional<z.ZodRecord<z.ZodString, typeof priceFactor>>
  >),
};

/** The keys of the prices of usage units. */
function pricesOfUnits(per: UnitPrice['per']): Record<string, z.ZodOptional<typeof amountNano>> {
  const keys = pricedUnits.filter(({ price }) => price.per === per).map(({ price }) => price.key);
  return Object.fromEntries(keys.map((key) => [key, amountNano.optional()]));
}

const officialPrices = section({
  input: amountNano,
  cachedInput: amountNano.optional(),
  output: amountNano,
  discountBasisPoints: wholeNumber(1, 10_000),
});

const peakHours = listOf('at least one range of hours such as "09:00-21:00"', dayRange, 1);

/** Prices, and others by the hour. */
const pricesOfDay = <Prices extends z.ZodRawShape>(prices: Prices) =>
  section({
    ...prices,
    timeOfDay: section({
      id: name,
      timezone,
      peak: section({ hours: peakHours, ...prices }),
      offPeak: section(prices),
    }).optional(),
  });

const price = pricesOfDay({ ...unitPrices, official: officialPrices.optional() });

/** A price list of a route: what the operator pays for its calls. */
const cost = pricesOfDay(unitPrices);

const route = section({
  provider: name,
  model: name,
  priority: wholeNumber(0, 1000).default(0),
  /** Share of the calls among routes of the same priority; 0 takes the route out of service. */
  weight: wholeNumber(0, 1_000_000).default(1),
  /** What calls over this route cost the operator; it changes no charge. */
  cost: cost.optional(),
});

const catalogText = anyText.optional();

const model = section({
  aliases: listOf('names', name).default([]),
  displayName: name.optional(),
  manufacturer: nameOrNone.default(''),
  /** The day of its release; `created` in lists of models. */
  released: day.optional(),
  capability: name.default('chat'),
  description: catalogText,
  contextLength: catalogText,
  maxOutputTokens: catalogText,
  modelSize: catalogText,
  inputModalities: catalogText,
  outputModalities: catalogText,
  docsPath: catalogText,
  /** Tokens of this model for one token of o200k, where the estimate for its family is wrong. */
  tokenFactor: factor.optional(),
  /**
   * Whether it reasons without showing it, and so has written more than is seen; absent: as its reported usage shows.
   */
  hiddenReasoning: trueOrFalse.optional(),
  /** Overrides the one in `billing`. */
  onClientAbort: onClientAbort.optional(),
  /** Whether the calls of a session stay on one route, where its prompt is cached. */
  affinity: oneOf(['session', 'off']).default('session'),
  listed: trueOrFalse.default(true),
  operations: listOf('at least one operation', oneOf(operationNames), 1),
  /**
   * Models that requests may name inside, by the vendor's name, and the model of the catalog by which each is priced
   * and admitted.
   */
  innerModels: named('models', text).default({}),
  price,
  routes: listOf('at least one route', route, 1),
});

const plan = section({
  name,
  fiveHourCalls: wholeNumber(0),
  weeklyCalls: wholeNumber(0),
  concurrency: wholeNumber(1),
  quotaTokens: wholeNumber(0),
  periodDays: wholeNumber(1),
  /** What a period is sold for: revenue of the operator, spread over its days. It charges nothing. */
  priceYuan: amountNano.optional(),
  models: listOf('at least one model', text, 1),
  inputByteLimit: sizeBytes,
  outputTokenLimit: wholeNumber(1),
  /** Calls that may wait for their turn at the concurrency limit, and for how long. */
  queue: section({ length: wholeNumber(0, 10_000).default(0), wait: durationMs.default(30_000) }).prefault({}),
});

/** Requests and tokens a minute. */
const minute = {
  requestsPerMinute: wholeNumber(1, 1_000_000_000).optional(),
  tokensPerMinute: wholeNumber(1, 1_000_000_000).optional(),
};

/** What each account may use that has no limits of its own. */
const limits = section({ ...minute, models: named('models', section(minute)).default({}) });

export const configSchema = section(
  {
    server: server.prefault({}),
    database: database.prefault({}),
    billing: billing.prefault({}),
    routing: routing.prefault({}),
    idempotency: idempotency.prefault({}),
    log: log.prefault({}),
    retention: retention.prefault({}),
    people: people.prefault({}),
    notices: notices.prefault({}),
    mail: mail.optional(),
    /** Where people can sign in besides with a password: `docs/openid-connect.md`. */
    oidc: named('OpenID providers', oidcProvider).default({}),
    tracing: tracing.optional(),
    providers: named('providers', provider).default({}),
    models: named('models', model).default({}),
    plans: named('plans', plan).default({}),
    limits: limits.prefault({}),
  },
  { refusals: keptAs('refusals', '30d'), changes: keptAs('changes', '400d') },
);

export type Config = z.infer<typeof configSchema>;
export type TracingConfig = NonNullable<Config['tracing']>;
export type ProviderConfig = Config['providers'][string];
export type ModelConfig = Config['models'][string];
type PriceConfig = ModelConfig['price'];
export type CostConfig = NonNullable<ModelConfig['routes'][number]['cost']>;
export type RunPricesConfig = Pick<PriceConfig, 'thinking' | 'outputAbove'>;
/** The prices of one list: the model's own, or those of a part of the day. */
export type UnitPricesConfig = Pick<PriceConfig, keyof typeof unitPrices>;
