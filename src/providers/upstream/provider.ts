import { credentialsOf, type NamedCredential } from '../../config/provider-credentials.ts';
import type { ProviderConfig } from '../../config/schema.ts';
import { Pool } from '../../lib/http-client.ts';
import { withoutTrailing } from '../../lib/trailing.ts';
import { protocolOf } from '../../protocols/all.ts';
import { inputWithCache, type RestateUsage } from '../../protocols/metering/input-with-cache.ts';
import type { Protocol } from '../../protocols/protocol.ts';
import { createConnector } from './connect.ts';
import { ConnectionGate } from './connection-gate.ts';
import { Credentials } from './credentials.ts';
import { watchStreams } from './http2-streams.ts';
import { HiddenTexts } from './secrets.ts';

/** A provider as calls use it: where to connect, which credentials and headers to send, how long to wait. */
export interface Provider {
  readonly id: string;
  readonly protocol: Protocol;
  /** Every call passes this gate before it gets to the pool. */
  readonly gate: ConnectionGate;
  readonly pool: Pool;
  /** Whether connections may speak HTTP/2; whether one does is agreed on when it is made. */
  readonly http2: boolean;
  /** Path of the base address, without a trailing slash. */
  readonly basePath: string;
  /** How it takes the credential. */
  readonly auth: 'bearer' | 'x-api-key';
  readonly credentials: Credentials;
  /** The operator's own headers by lower-case name. They may be secret. */
  readonly headers: Readonly<Record<string, string>>;
  /**
   * Prefix of the version and beta headers that the provider expects; `null`: the name under which the gateway serves
   * the protocol.
   */
  readonly vendor: string | null;
  /** Whether every account may refer to state that this provider keeps. */
  readonly sharesState: boolean;
  /** Whether it may be sent a part of a tool that the gateway does not know, by the name of the part. */
  readonly allows: (part: string) => boolean;
  /** Whether a whole response without usage is charged by an estimate, and not refused. */
  readonly estimatesUsage: boolean;
  /** Restates its usage before it is read. Absent: it means what the protocol says. */
  readonly restatesUsage?: RestateUsage;
  /** Whether it gets the W3C trace context of calls. */
  readonly passesTraceContext: boolean;
  /** Texts that must not reach a client: the credentials, the hosts, and whatever else looks like a credential. */
  readonly hidden: Pick<HiddenTexts, 'texts' | 'words'>;
  readonly timeouts: { readonly connectMs: number; readonly firstByteMs: number; readonly idleMs: number };
  /** Lets calls under way finish, then closes the connections. */
  close(): Promise<void>;
  /** Breaks off the calls under way. */
  destroy(): Promise<void>;
}

/** Longer than the pauses of an agent, shorter than most vendors' own limit: a reused connection must still be open. */
const KEEP_ALIVE_MS = 30_000;

/** As much as the gateway itself accepts from its clients. */
const HEADER_BYTES_MAX = 64 * 1024;

export function createProvider(id: string, config: ProviderConfig): Provider {
  const { timeouts, connections, queue, http2 } = config;
  const url = new URL(config.baseUrl);
  const proxy = config.proxy === '' ? null : config.proxy;
  if (http2) watchStreams();
  const gate = new ConnectionGate({ callsMax: connections, queueLength: queue.length, queueWaitMs: queue.wait });
  const pool = new Pool(url.origin, {
    connections,
    pipelining: 1,
    allowH2: http2,
    connect: createConnector({ timeoutMs: timeouts.connect, http2, ca: config.ca ?? null, proxy }),
    keepAliveTimeout: KEEP_ALIVE_MS,
    maxHeaderSize: HEADER_BYTES_MAX,
  });
  const protocol = protocolOf(config.protocol);
  const headers = Object.fromEntries(
    Object.entries(config.headers).map(([name, value]) => [name.toLowerCase(), value]),
  );
  const hidden = new HiddenTexts([url.host, url.hostname, ...proxySecrets(proxy), ...headerSecrets(headers)]);
  return {
    id,
    protocol,
    gate,
    pool,
    http2,
    basePath: withoutTrailing(url.pathname, '/'),
    auth: config.auth ?? protocol.providerAuth,
    credentials: new Credentials(credentialsOf(config), (credential) => hidden.addCredential(credential)),
    headers,
    vendor: config.vendor ?? null,
    sharesState: config.sharedState === 'pass',
    allows: allowance(config),
    estimatesUsage: config.missingUsage === 'estimate',
    // In messages the input leaves the cache out by the protocol, and is read so.
    ...(config.protocol === 'chat' && config.cacheTokens === 'excluded' && { restatesUsage: inputWithCache }),
    passesTraceContext: config.traceContext === 'pass',
    hidden,
    timeouts: { connectMs: timeouts.connect, firstByteMs: timeouts.firstByte, idleMs: timeouts.idle },
    async close() {
      gate.close();
      // At the end of a shutdown that took too long, calls are already broken off.
      if (!pool.destroyed) await pool.close();
    },
    async destroy() {
      gate.close();
      await pool.destroy();
    },
  };
}

/** A name that is allowed covers the members below it; one that ends with a star covers all that begin so. */
function allowance({ allows, unknownTools }: ProviderConfig): Provider['allows'] {
  if (unknownTools === 'pass') return () => true;
  return (part) =>
    allows.some((name) =>
      name.endsWith('*') ? part.startsWith(name.slice(0, -1)) : part === name || part.startsWith(`${name}.`),
    );
}

/** A user name is left out: it may be any word. */
function proxySecrets(proxy: string | null): string[] {
  if (proxy === null) return [];
  const { host, hostname, password } = new URL(proxy);
  return password === '' ? [host, hostname] : [host, hostname, decodeURIComponent(password)];
}

const SECRET_NAME = /auth|key|token|secret|cookie|password|credential|signature/;
const SECRET_WORD_LENGTH = 16;

/**
 * The parts of the operator's headers that a provider's message must not repeat. Any value may be a secret, but a plain
 * word among them, such as a title, would be cut out of unrelated messages. So: every value of a header whose name
 * suggests a credential, and every long word with letters and digits, such as the id of an organisation.
 */
function headerSecrets(headers: Readonly<Record<string, string>>): string[] {
  return Object.entries(headers).flatMap(([name, value]) => {
    const words = value.split(/[\s;,]+/).filter((word) => word.length >= SECRET_WORD_LENGTH);
    if (SECRET_NAME.test(name)) return [value, ...words];
    return words.filter((word) => /[a-z]/i.test(word) && /\d/.test(word));
  });
}

/**
 * Creates the providers of a configuration; those of which no setting but the credentials changed keep their connections, and their
 * credentials until `useCredentials`.
 */
export function createProviders(configs: Readonly<Record<string, ProviderConfig>>, previous?: Providers): Providers {
  const byId = new Map<string, Entry>();
  for (const [id, config] of Object.entries(configs)) {
    const { apiKey, apiKeys, ...others } = config;
    const settings = JSON.stringify(others);
    byId.set(id, {
      provider: previous?.find(id, settings) ?? createProvider(id, config),
      settings,
      credentials: credentialsOf({ apiKey, apiKeys }),
    });
  }
  return new Providers(byId);
}

interface Entry {
  readonly provider: Provider;
  /** All but the credentials. */
  readonly settings: string;
  readonly credentials: readonly NamedCredential[];
}

/** The providers of one configuration. */
export class Providers {
  readonly #byId: ReadonlyMap<string, Entry>;

  constructor(byId: ReadonlyMap<string, Entry>) {
    this.#byId = byId;
  }

  /** Uses the credentials of this configuration from now on, and tries again those that were refused. */
  useCredentials(): void {
    for (const { provider, credentials } of this.#byId.values()) provider.credentials.replace(credentials);
  }

  get(id: string): Provider {
    const entry = this.#byId.get(id);
    if (entry === undefined) throw new Error(`the provider ${id} is not in this configuration`);
    return entry.provider;
  }

  /** The provider of that name, if its settings are these. */
  find(id: string, settings: string): Provider | undefined {
    const entry = this.#byId.get(id);
    return entry?.settings === settings ? entry.provider : undefined;
  }

  /** Closes the connections of providers that `next` no longer uses, once their calls have ended. */
  retire(next: Providers): void {
    for (const [id, { provider }] of this.#byId) {
      if (next.#byId.get(id)?.provider !== provider) void provider.close();
    }
  }

  async close(): Promise<void> {
    await Promise.all([...this.#byId.values()].map(({ provider }) => provider.close()));
  }

  async destroy(): Promise<void> {
    await Promise.all([...this.#byId.values()].map(({ provider }) => provider.destroy()));
  }
}
