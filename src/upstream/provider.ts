import { Pool } from 'undici';
import type { Protocol, ProviderConfig } from '../config/schema.ts';

/** A provider as calls use it: where to connect, which headers identify us, how long to wait. */
export interface Provider {
  readonly id: string;
  readonly protocol: Protocol;
  readonly pool: Pool;
  /** Path of the base address, without a trailing slash. */
  readonly basePath: string;
  /** Name and value of the credential header. Secret: never logged, never sent anywhere else. */
  readonly credential: { readonly name: string; readonly value: string };
  /** Prefix of the version and beta headers that the provider expects; `null`: the name under which we serve. */
  readonly vendor: string | null;
  /** Texts that must not reach a client: the key and the host (design 5.5). */
  readonly secrets: readonly string[];
  readonly firstByteTimeoutMs: number;
  readonly idleTimeoutMs: number;
  /** Lets calls under way finish, then closes the connections. */
  close(): Promise<void>;
  /** Breaks calls under way off. */
  destroy(): Promise<void>;
}

/** Longer than the pauses of an agent, shorter than most vendors' own limit: a reused connection must still be open. */
const KEEP_ALIVE_MS = 30_000;

export function createProvider(id: string, config: ProviderConfig): Provider {
  const url = new URL(config.baseUrl);
  const pool = new Pool(url.origin, {
    connections: config.connections,
    pipelining: 1,
    allowH2: false,
    connect: { timeout: config.timeouts.connect, noDelay: true },
    keepAliveTimeout: KEEP_ALIVE_MS,
    headersTimeout: config.timeouts.firstByte,
    bodyTimeout: config.timeouts.idle,
  });
  const auth = config.auth ?? (config.protocol === 'messages' ? 'x-api-key' : 'bearer');
  return {
    id,
    protocol: config.protocol,
    pool,
    basePath: url.pathname.replace(/\/+$/, ''),
    credential:
      auth === 'bearer'
        ? { name: 'authorization', value: `Bearer ${config.apiKey}` }
        : { name: 'x-api-key', value: config.apiKey },
    vendor: config.vendor ?? null,
    secrets: [config.apiKey, url.host, url.hostname],
    firstByteTimeoutMs: config.timeouts.firstByte,
    idleTimeoutMs: config.timeouts.idle,
    close: () => pool.close(),
    destroy: () => pool.destroy(),
  };
}

/** The providers of one configuration. */
export interface Providers {
  get(id: string): Provider;
  /** Closes the connections of providers that `next` no longer uses, once their calls have ended. */
  retire(next: Providers): void;
  close(): Promise<void>;
  destroy(): Promise<void>;
}

/** Creates the providers of a configuration; those whose settings did not change keep their connections. */
export function createProviders(configs: Readonly<Record<string, ProviderConfig>>, previous?: Providers): Providers {
  const byId = new Map<string, { provider: Provider; settings: string }>();
  for (const [id, config] of Object.entries(configs)) {
    const settings = JSON.stringify(config);
    const kept = previous instanceof ProviderSet ? previous.find(id, settings) : undefined;
    byId.set(id, { provider: kept ?? createProvider(id, config), settings });
  }
  return new ProviderSet(byId);
}

class ProviderSet implements Providers {
  readonly #byId: ReadonlyMap<string, { provider: Provider; settings: string }>;

  constructor(byId: ReadonlyMap<string, { provider: Provider; settings: string }>) {
    this.#byId = byId;
  }

  get(id: string): Provider {
    const entry = this.#byId.get(id);
    if (entry === undefined) throw new Error(`the provider ${id} is not in this configuration`);
    return entry.provider;
  }

  find(id: string, settings: string): Provider | undefined {
    const entry = this.#byId.get(id);
    return entry?.settings === settings ? entry.provider : undefined;
  }

  retire(next: Providers): void {
    for (const [id, { provider }] of this.#byId) {
      if (next instanceof ProviderSet && next.#byId.get(id)?.provider === provider) continue;
      void provider.close();
    }
  }

  async close(): Promise<void> {
    await Promise.all([...this.#byId.values()].map(({ provider }) => provider.close()));
  }

  async destroy(): Promise<void> {
    await Promise.all([...this.#byId.values()].map(({ provider }) => provider.destroy()));
  }
}
