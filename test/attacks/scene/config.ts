import type { Stage } from '../attack.ts';
import { CHEAP, MODELS, type ProviderId } from './models.ts';

export interface ConfigOptions {
  readonly stage: Stage;
  readonly providerUrl: string;
  readonly dataDir: string;
  readonly databaseUrl: string;
}

/** So many calls of the innocent caller's provider at a time: one attacker can take them all if nothing shares them. */
const SHOP_CONNECTIONS = 64;

/** The gateway that takes few connections of clients takes so many, and half of them from one address. */
const FEW_CONNECTIONS = 256;

/** What bodies may take of the memory, as little as the largest of them allow: the bound of what memory may grow by. */
export const BODY_MEMORY_MIB = 256;
const UPLOAD_DISK_MIB = 1_610;

/** The size of the list of models, if there is a model with many aliases and a long name. */
export const LIST_MIB = 4;
const ALIASES = 1_000;
const LISTED = {
  aliases: Array.from({ length: ALIASES }, (_, i) => `listed-${i}`),
  displayName: 'A model with a long name'.padEnd((LIST_MIB * 2 ** 20) / ALIASES, '.'),
  operations: ['chat'],
  price: CHEAP,
  routes: [{ provider: 'shop', model: 'listed' }],
};

/** Whoever connects from there is a proxy that names its clients. */
export const PROXY_ADDRESS = '127.0.0.9';

/** A configuration file: what is JSON is YAML, too. Every other setting has its default. */
export function configText({ stage, providerUrl, dataDir, databaseUrl }: ConfigOptions): string {
  const chat = (more: object = {}) => ({ protocol: 'chat', baseUrl: `${providerUrl}/v1`, apiKey: 'secret', ...more });
  const messages = { protocol: 'messages', vendor: 'anthropic', baseUrl: providerUrl, apiKey: 'secret' };
  const providers: Record<ProviderId, object> = {
    shop: chat({ connections: SHOP_CONNECTIONS, queue: { length: SHOP_CONNECTIONS, wait: '10s' } }),
    'shop-messages': messages,
    vault: chat(),
    'vault-messages': messages,
  };
  const models = MODELS.map(({ id, provider, operations, contextTokens, outputTokensMax, price }) => [
    id,
    {
      operations,
      contextLength: String(contextTokens),
      ...(outputTokensMax === undefined ? {} : { maxOutputTokens: String(outputTokensMax) }),
      price,
      routes: [{ provider, model: id }],
    },
  ]);
  const plan = { models: ['dear-chat', 'dear-messages'], weeklyCalls: 5000, concurrency: 100, periodDays: 30 };
  const limits = { inputByteLimit: '4MiB', outputTokenLimit: 32_000 };
  return JSON.stringify(
    {
      server: {
        port: 0,
        trustedProxies: [PROXY_ADDRESS],
        bodyMemory: `${BODY_MEMORY_MIB}MiB`,
        uploadDisk: `${UPLOAD_DISK_MIB}MiB`,
        ...(stage === 'fewConnections' ? { connections: FEW_CONNECTIONS } : {}),
      },
      database: { url: databaseUrl, dataDir },
      providers,
      models: { ...Object.fromEntries(models), ...(stage === 'people' ? { listed: LISTED } : {}) },
      plans: {
        'few-tokens': { name: 'Few tokens', ...plan, ...limits, fiveHourCalls: 1000, quotaTokens: 50_000 },
        'ten-calls': { name: 'Ten calls', ...plan, ...limits, fiveHourCalls: 10, quotaTokens: 1_000_000_000 },
      },
    },
    null,
    2,
  );
}
