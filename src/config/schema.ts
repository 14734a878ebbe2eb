import { z } from 'zod';
import {
  amountNano,
  baseUrl,
  dayRange,
  durationMs,
  port,
  protocolNames,
  section,
  sizeBytes,
  text,
  timezone,
  wholeNumber,
} from './fields.ts';
import { closestName } from './suggest.ts';

/**
 * The schema of `faregate.yaml` (design 3). What comes out has its units in the names of its types: money in nano-yuan,
 * time in milliseconds, sizes in bytes.
 */

export const protocolSchema = z.enum(['chat', 'messages']);
/** The wire family of an address or a provider. */
export type Protocol = z.infer<typeof protocolSchema>;

export const operationNameSchema = z.enum([
  'chat',
  'messages',
  'responses',
  'compact',
  'embeddings',
  'rerank',
  'images.generate',
  'images.edit',
]);
/** What a model can be asked to do (design 1). */
export type OperationName = z.infer<typeof operationNameSchema>;

const server = section({
  host: text.default('127.0.0.1'),
  port: port.default(8080),
  bodyLimit: sizeBytes.default(64 * 2 ** 20),
  editBodyLimit: sizeBytes.default(805 * 2 ** 20),
  protocolNames: section({
    chat: protocolNames.default(['compat']),
    messages: protocolNames.default(['altproto']),
  }).prefault({}),
  messagesContext: z.enum(['coding', 'balance']).default('coding'),
  /** How long calls in flight may go on after SIGTERM. */
  shutdownTimeout: durationMs.default(30_000),
  /** How long an upload may make no progress. */
  uploadIdleTimeout: durationMs.default(30_000),
});

const database = section({
  /** Empty or absent: the embedded database. */
  url: z
    .string()
    .default('')
    .refine((url) => url === '' || /^postgres(ql)?:\/\//.test(url), {
      error: 'Expected a postgres:// address, or nothing for the embedded database.',
    }),
  dataDir: text.default('./data'),
});

const billing = section({
  dailySpendCapYuan: amountNano.optional(),
  timezone: timezone.default('Asia/Shanghai'),
  /** What happens to the provider's stream when the client goes away (design 7). */
  onClientAbort: z.enum(['cancel', 'drain']).default('cancel'),
});

const provider = section({
  protocol: protocolSchema,
  baseUrl,
  apiKey: text,
  /** Prefix of the version and beta headers that this provider expects, such as `anthropic`. */
  vendor: z
    .string()
    .regex(/^[a-z][a-z0-9-]{0,31}$/, 'Expected lower-case letters, digits and hyphens.')
    .optional(),
  auth: z.enum(['bearer', 'x-api-key']).optional(),
  timeouts: section({
    connect: durationMs.default(10_000),
    firstByte: durationMs.default(600_000),
    idle: durationMs.default(300_000),
  }).prefault({}),
  connections: wholeNumber(1, 100_000).default(1024),
});

const tokenPrices = {
  input: amountNano,
  cachedInput: amountNano.optional(),
  cacheWrite: amountNano.optional(),
  cacheWrite1h: amountNano.optional(),
  output: amountNano,
};

const officialPrices = section({
  input: amountNano,
  cachedInput: amountNano.optional(),
  output: amountNano,
  discountBasisPoints: wholeNumber(1, 10_000),
});

const price = section({
  ...tokenPrices,
  official: officialPrices.optional(),
  timeOfDay: section({
    id: text,
    timezone,
    peak: section({ hours: z.array(dayRange).min(1), ...tokenPrices, official: officialPrices.optional() }),
    offPeak: section({ ...tokenPrices, official: officialPrices.optional() }),
  }).optional(),
});

const route = section({
  provider: text,
  model: text,
  priority: wholeNumber(0, 1000).default(0),
  weight: wholeNumber(1, 1_000_000).default(1),
});

const catalogText = z.union([z.string(), z.number().transform(String)]).optional();

const model = section({
  aliases: z.array(text).default([]),
  displayName: text.optional(),
  manufacturer: z.string().default(''),
  capability: text.default('chat'),
  description: catalogText,
  contextLength: catalogText,
  maxOutputTokens: catalogText,
  modelSize: catalogText,
  inputModalities: catalogText,
  outputModalities: catalogText,
  docsPath: catalogText,
  listed: z.boolean().default(true),
  operations: z.array(operationNameSchema).min(1, 'A model needs at least one operation.'),
  price,
  routes: z.array(route).min(1, 'A model needs at least one route.'),
});

const plan = section({
  name: text,
  fiveHourCalls: wholeNumber(0),
  weeklyCalls: wholeNumber(0),
  concurrency: wholeNumber(1),
  quotaTokens: wholeNumber(0),
  periodDays: wholeNumber(1),
  models: z.array(text).min(1),
  inputByteLimit: sizeBytes,
  outputTokenLimit: wholeNumber(1),
});

export const configSchema = section({
  server: server.prefault({}),
  database: database.prefault({}),
  billing: billing.prefault({}),
  providers: z.record(text, provider).default({}),
  models: z.record(text, model).default({}),
  plans: z.record(text, plan).default({}),
}).superRefine((config, context) => {
  const ids = new Map<string, string>();
  for (const [id, model] of Object.entries(config.models)) {
    for (const [index, name] of [id, ...model.aliases].entries()) {
      const taken = ids.get(name);
      const path = index === 0 ? ['models', id] : ['models', id, 'aliases', index - 1];
      if (taken !== undefined) {
        context.addIssue({ code: 'custom', path, message: `"${name}" already names the model ${taken}.` });
      }
      ids.set(name, id);
    }
    for (const [index, route] of model.routes.entries()) {
      if (Object.hasOwn(config.providers, route.provider)) continue;
      context.addIssue({
        code: 'custom',
        path: ['models', id, 'routes', index, 'provider'],
        message: unknownName('provider', route.provider, Object.keys(config.providers)),
      });
    }
  }
  for (const [id, plan] of Object.entries(config.plans)) {
    for (const [index, name] of plan.models.entries()) {
      if (Object.hasOwn(config.models, name)) continue;
      context.addIssue({
        code: 'custom',
        path: ['plans', id, 'models', index],
        message: unknownName('model', name, Object.keys(config.models)),
      });
    }
  }
});

function unknownName(what: string, name: string, names: readonly string[]): string {
  const closest = closestName(name, names);
  const known = names.length === 0 ? `no ${what} is configured` : `known: ${names.join(', ')}`;
  return `There is no ${what} "${name}"${closest === null ? ` (${known}).` : `. Did you mean "${closest}"?`}`;
}

export type Config = z.infer<typeof configSchema>;
export type ProviderConfig = Config['providers'][string];
export type ModelConfig = Config['models'][string];
export type PriceConfig = ModelConfig['price'];
export type TokenPricesConfig = Pick<PriceConfig, 'input' | 'cachedInput' | 'cacheWrite' | 'cacheWrite1h' | 'output'>;
