import type { Stage } from '../attack.ts';
import { CHEAP, MODELS, type ProviderId } from './models.ts';

export interface ConfigOptions {
  readonly stage: Stage;
  readonly providerUrl: string;
  readonly dataDir: string;
  readonly databaseUrl: string;
}

/** Concurrent calls to the innocent caller's provider. Without fair sharing, one attacker can use all of them. */
const SHOP_CONNECTIONS = 64;

/** Maximum client connections of the gateway with few connections. One address may have half of them. */
const FEW_CONNECTIONS = 256;

/** Memory for bodies: the minimum that the largest body allows. It bounds the growth of memory. */
export const BODY_MEMORY_MIB = 256;
const UPLOAD_DISK_MIB = 1_610;

/** Size of the list of models, with a model that has many aliases and a long name. */
export const LIST_MIB = 4;
const ALIASES = 1_000;
const LISTED = {
  aliases: Array.from({ length: ALIASES }, (_, i) => `listed-${i}`),
  displayName: 'A model with a long name'.padEnd((LIST_MIB * 2 ** 20) / ALIASES, '.'),
  operations: ['chat'],
  price: CHEAP,
  routes: [{ provider: 'shop', model: 'listed' }],
};

/** Address of a trusted proxy that forwards client addresses. */
export const PROXY_ADDRESS = '127.0.0.9';

/** The configuration file. JSON is valid YAML. All other settings have their defaults. */
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
