import { credentialsOf, type NamedCredential, readCredentialFile } from '../../config/provider-credentials.ts';
import type { ProviderConfig } from '../../config/schema.ts';
import { Pool } from '../../lib/http-client.ts';
import { withoutTrailing } from '../../lib/trailing.ts';
import { protocolOf } from '../../protocols/all.ts';
import { inputWithCache, type RestateUsage } from '../../protocols/metering/input-with-cache.ts';
import { compileParameters, type MemberParameters } from '../../protocols/parameters/parameters.ts';
import type { Protocol } from '../../protocols/protocol.ts';
import { createConnector } from './connect.ts';
import { ConnectionGate } from './connection-gate.ts';
import { Credentials } from './credentials.ts';
import { watchStreams } from './http2-streams.ts';
import { RenewedCredentials } from './renewed-credential.ts';
import { HiddenTexts } from './secrets.ts';

export interface Provider {
  readonly id: string;
  readonly protocol: Protocol;
  readonly gate: ConnectionGate;
  readonly pool: Pool;
  /** Whether connections may use HTTP/2, which each of them negotiates. */
  readonly http2: boolean;
  readonly basePath: string;
  /** Sent with every request, with its question mark; empty: none. */
  readonly query: string;
  readonly auth: 'bearer' | 'x-api-key' | 'api-key';
  readonly credentials: Credentials;
  /** Headers that the operator configured, by lowercase name. Their values may be secret. */
  readonly headers: Readonly<Record<string, string>>;
  /** Lowercase names of the headers of clients that the provider gets. */
  readonly forwards: readonly string[];
  readonly vendor: string | null;
  readonly sharesState: boolean;
  /** Whether requests may contain a tool, or a member of a tool, that the gateway does not know. */
  readonly allows: (part: string) => boolean;
  /** If a non-streaming response has no usage: true to charge an estimate, false to refuse the response. */
  readonly estimatesUsage: boolean;
  readonly restatesUsage?: RestateUsage;
  readonly passesTraceContext: boolean;
  /** Whether the rate-limit headers of responses decide which credential comes next. */
  readonly followsVendorLimits: boolean;
  /** Changes of request bodies on all routes. The catalog combines them with those of each route. */
  readonly parameters: readonly MemberParameters[];
  /** Texts that must not reach clients: credentials, hosts, and anything that looks like a credential. */
  readonly hidden: Pick<HiddenTexts, 'texts' | 'words'>;
  readonly timeouts: { readonly connectMs: number; readonly firstByteMs: number; readonly idleMs: number };
  close(): Promise<void>;
  destroy(): Promise<void>;
}

/** How long an unused connection stays open: longer than an agent's usual pauses, and shorter than most vendors allow. */
const KEEP_ALIVE_MS = 30_000;

/** Maximum size of a response's headers, equal to that of requests by the gateway's clients. */
const HEADER_BYTES_MAX = 64 * 1024;

export function createProvider(id: string, config: ProviderConfig, renewed = new RenewedCredentials()): Provider {
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
    query: url.search,
    auth: config.auth ?? protocol.providerAuth,
    credentials: new Credentials(
      credentialsOf(config),
      (credential) => hidden.addCredential(credential),
      readCredentialFile,
      renewed,
    ),
    headers,
    forwards: config.forwardHeaders.map((name) => name.toLowerCase()),
    vendor: config.vendor ?? null,
    sharesState: config.sharedState === 'pass',
    allows: allowance(config),
    estimatesUsage: config.missingUsage === 'estimate',
    // In the messages protocol, input tokens always exclude cache tokens, so this setting changes nothing.
    ...(config.protocol === 'chat' && config.cacheTokens === 'excluded' && { restatesUsage: inputWithCache }),
    passesTraceContext: config.traceContext === 'pass',
    followsVendorLimits: config.vendorLimits === 'follow',
    parameters: compileParameters(config.parameters ?? {}),
    hidden,
    timeouts: { connectMs: timeouts.connect, firstByteMs: timeouts.firstByte, idleMs: timeouts.idle },
    async close() {
      gate.close();
      // If a shutdown takes too long, `destroy` has already closed the pool and aborted all calls.
      if (!pool.destroyed) await pool.close();
    },
    async destroy() {
      gate.close();
      await pool.destroy();
    },
  };
}

/** An allowed name also allows the members below it. A trailing `*` allows all names that start with the text before it. */
function allowance({ allows, unknownTools }: ProviderConfig): Provider['allows'] {
  if (unknownTools === 'pass') return () => true;
  return (part) =>
    allows.some((name) =>
      name.endsWith('*') ? part.startsWith(name.slice(0, -1)) : part === name || part.startsWith(`${name}.`),
    );
}

/** The user name is not a secret, because it can be any word. */
function proxySecrets(proxy: string | null): string[] {
  if (proxy === null) return [];
  const { host, hostname, password } = new URL(proxy);
  return password === '' ? [host, hostname] : [host, hostname, decodeURIComponent(password)];
}

const SECRET_NAME = /auth|key|token|secret|cookie|password|credential|signature/;
const SECRET_WORD_LENGTH = 16;

/**
 * Returns the configured header values that a provider's message must not repeat: all values of headers whose name suggests a credential,
 * and long words with letters and digits, such as organization ids. Plain words, such as a title, stay, because messages may contain them.
 */
function headerSecrets(headers: Readonly<Record<string, string>>): string[] {
  return Object.entries(headers).flatMap(([name, value]) => {
    const words = value.split(/[\s;,]+/).filter((word) => word.length >= SECRET_WORD_LENGTH);
    if (SECRET_NAME.test(name)) return [value, ...words];
    return words.filter((word) => /[a-z]/i.test(word) && /\d/.test(word));
  });
}

/** Creates the providers of a configuration. A provider of which only the credentials changed keeps its connections. */
export function createProviders(configs: Readonly<Record<string, ProviderConfig>>, previous?: Providers): Providers {
  const byId = new Map<string, Entry>();
  const renewed = previous?.renewed ?? new RenewedCredentials();
  for (const [id, config] of Object.entries(configs)) {
    // Limits change without new connections.
    const { apiKey, apiKeys, limits: _, ...others } = config;
    const settings = JSON.stringify(others);
    byId.set(id, {
      provider: previous?.find(id, settings) ?? createProvider(id, config, renewed),
      settings,
      credentials: credentialsOf({ apiKey, apiKeys }),
    });
  }
  return new Providers(byId, renewed);
}

interface Entry {
  readonly provider: Provider;
  readonly settings: string;
  readonly credentials: readonly NamedCredential[];
}

export class Providers {
  readonly #byId: ReadonlyMap<string, Entry>;
  /** Shared with the providers of later configurations. */
  readonly renewed: RenewedCredentials;

  constructor(byId: ReadonlyMap<string, Entry>, renewed: RenewedCredentials) {
    this.#byId = byId;
    this.renewed = renewed;
  }

  /** Uses the credentials of this configuration from now on. Refused credentials are tried again; those of commands are renewed in time. */
  useCredentials(): void {
    for (const { provider, credentials } of this.#byId.values()) provider.credentials.replace(credentials);
    const all = [...this.#byId.values()].flatMap(({ credentials }) => credentials);
    const commands = all.flatMap(({ command }) => (command === undefined ? [] : [command.runs]));
    this.renewed.keepOnly(commands);
    for (const command of commands) this.renewed.of(command).start();
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

  /** Closes the connections of the providers that are not in `next`, after their calls have ended. */
  retire(next: Providers): void {
    for (const [id, { provider }] of this.#byId) {
      if (next.#byId.get(id)?.provider !== provider) void provider.close();
    }
  }

  async close(): Promise<void> {
    this.renewed.keepOnly([]);
    await Promise.all([...this.#byId.values()].map(({ provider }) => provider.close()));
  }

  async destroy(): Promise<void> {
    this.renewed.keepOnly([]);
    await Promise.all([...this.#byId.values()].map(({ provider }) => provider.destroy()));
  }
}
