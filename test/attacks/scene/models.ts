import { parseYuan } from '../../../src/lib/yuan.ts';

/**
 * The models of the scene. The provider's bill and the gateway's configuration use the same prices, so a tenant's charge for a call
 * equals the provider's bill unless a caller cheats.
 */
export interface SceneModel {
  /** The same name for tenants and at the provider. */
  readonly id: string;
  readonly provider: ProviderId;
  readonly operations: readonly string[];
  readonly contextTokens: number;
  readonly outputTokensMax?: number;
  /** As in the configuration: yuan per million tokens, per image, or per search unit. */
  readonly price: {
    readonly input?: string;
    readonly output?: string;
    readonly perSearchUnit?: string;
    readonly perImage?: Readonly<Record<string, string>>;
  };
}

/**
 * `shop` and `shop-messages` serve the innocent caller. `vault` and `vault-messages` serve the expensive models of attacks on money, over
 * separate connections.
 */
export type ProviderId = 'shop' | 'shop-messages' | 'vault' | 'vault-messages';

export const CHEAP = { input: '4', output: '16' };
/** A yuan per thousand tokens, so that any call costs more than a small balance. */
const DEAR = { input: '1000', output: '1000' };
const LIMITS = { contextTokens: 200_000, outputTokensMax: 32_000 };

export const MODELS: readonly SceneModel[] = [
  { id: 'shop-chat', provider: 'shop', operations: ['chat', 'responses', 'compact'], ...LIMITS, price: CHEAP },
  { id: 'shop-messages', provider: 'shop-messages', operations: ['messages'], ...LIMITS, price: CHEAP },
  { id: 'dear-chat', provider: 'vault', operations: ['chat', 'responses', 'compact'], ...LIMITS, price: DEAR },
  { id: 'dear-thinker', provider: 'vault', operations: ['chat', 'responses'], ...LIMITS, price: DEAR },
  { id: 'dear-messages', provider: 'vault-messages', operations: ['messages'], ...LIMITS, price: DEAR },
  {
    id: 'dear-embeddings',
    provider: 'vault',
    operations: ['embeddings'],
    contextTokens: 10_000_000,
    price: { input: '100' },
  },
  { id: 'dear-rerank', provider: 'vault', operations: ['rerank'], contextTokens: 20_000_000, price: { input: '100' } },
  {
    id: 'dear-rerank-units',
    provider: 'vault',
    operations: ['rerank'],
    contextTokens: 20_000_000,
    price: { perSearchUnit: '1' },
  },
  {
    id: 'painter',
    provider: 'vault',
    operations: ['images.generate', 'images.edit'],
    contextTokens: 200_000,
    price: { input: '100', output: '1000' },
  },
  {
    id: 'painter-by-image',
    provider: 'vault',
    operations: ['images.generate', 'images.edit'],
    contextTokens: 200_000,
    price: { perImage: { low: '0.05', high: '1', default: '0.2' } },
  },
];

export interface Used {
  readonly inputTokens: number;
  readonly outputTokens: number;
  /** The hidden share of the output. */
  readonly reasoningTokens: number;
  readonly images: number;
  readonly searchUnits: number;
}

/** The provider's price of a call. Images are billed at the default quality, at any size. */
export function costNano(modelId: string, used: Used): bigint {
  const { price } = MODELS.find(({ id }) => id === modelId)!;
  const perMillion = (yuan = '0'): bigint => BigInt(yuan) * 1_000n;
  return (
    BigInt(used.inputTokens) * perMillion(price.input) +
    BigInt(used.outputTokens) * perMillion(price.output) +
    BigInt(used.searchUnits) * nanoOf(price.perSearchUnit) +
    BigInt(used.images) * nanoOf(price.perImage?.default)
  );
}

/** A decimal amount in yuan as nano-yuan. */
export function nanoOf(yuan = '0'): bigint {
  return parseYuan(yuan)!;
}

/** Yuan with six decimals, for reports. */
export function yuanOf(nano: bigint): string {
  return (Number(nano) / 1e9).toFixed(6).replace(/\.?0+$/, '');
}
