import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseYuan } from '../../src/lib/yuan.ts';
import { adminClient } from '../support/admin-client.ts';
import { start } from './child.ts';
import { type AgentName, settingsFile } from './page.ts';

const MAIN = fileURLToPath(new URL('../../src/main.ts', import.meta.url));
const ADMIN_TOKEN = 'agents-admin-token';

/** The model in `docs/agents.md`, by its public name and by its name at providers. */
export const MODEL = 'acme-coder';
export const PROVIDER_MODEL = 'acme-coder-2026-10';

/** A model of both vendors. Only its signed thinking ties a conversation to one of them. */
export const THINKER = 'acme-thinker';
export const VENDORS = ['acme', 'zenith'] as const;
export type Vendor = (typeof VENDORS)[number];
/** The provider in the configuration that serves the agent. */
export const providerOf = (vendor: Vendor, agent: AgentName): string =>
  agent === 'Claude Code' ? `${vendor}-messages` : vendor;

/** Models whose providers speak one protocol that their agents do not. Codex knows the names of some. */
export const TRANSLATED = {
  chat: { model: 'acme-chat', known: 'gpt-5.5' },
  messages: { model: 'acme-messages', known: 'gpt-6.2-sol' },
} as const;

/** The prices of all models, in nano-yuan per token. They are primes, so that wrong counts cannot produce the right sum. */
const PRICES = { input: 3_000n, cached: 700n, output: 13_000n };

/** A plan whose limits scenarios may reach. */
export const PLANS = {
  roomy: { fiveHourCalls: 1000, concurrency: 4, inputByteLimit: '4MiB' },
  'no-calls': { fiveHourCalls: 0, concurrency: 4, inputByteLimit: '4MiB' },
  'two-calls': { fiveHourCalls: 2, concurrency: 4, inputByteLimit: '4MiB' },
  'one-at-a-time': { fiveHourCalls: 1000, concurrency: 1, inputByteLimit: '4MiB' },
  'no-room': { fiveHourCalls: 1000, concurrency: 4, inputByteLimit: '16KiB' },
  'little-room': { fiveHourCalls: 1000, concurrency: 4, inputByteLimit: '124KiB' },
} as const;

export type PlanId = keyof typeof PLANS;

export interface CallRecord {
  readonly context: string;
  readonly operation: string;
  readonly model: string;
  readonly isStream: boolean;
  readonly status: string;
  readonly httpStatus: number | null;
  readonly errorCode: string | null;
  readonly chargeYuan: string | null;
  readonly failedRoutes: readonly unknown[];
  readonly usage: {
    readonly source: string;
    readonly inputTokens: number;
    readonly cachedInputTokens: number;
    readonly cacheWriteTokens: number;
    readonly outputTokens: number;
  } | null;
}

export interface Tenant {
  readonly id: string;
  readonly key: string;
  revokeKey(): Promise<void>;
  /** In the order of their start. */
  calls(): Promise<CallRecord[]>;
  money(): Promise<{ balanceNano: bigint; heldNano: bigint }>;
  /** Remaining calls in the plan's five-hour window. */
  remainingCalls(): Promise<number>;
}

export interface Gateway {
  readonly url: string;
  /** A verified account with a key, with a balance or a plan. */
  createTenant(terms: { balanceYuan?: string; plan?: PlanId }): Promise<Tenant>;
  /** Drains the thinking model at the provider, or resumes it. */
  setDrained(provider: string, isDrained: boolean): Promise<void>;
  /** All violated invariants of the ledger. */
  breaches(): Promise<string[]>;
  log(): string;
  stop(): Promise<void>;
}

/** Providers by protocol: each agent has its own, so that two agents can run at the same time. */
export type ProviderUrls = Readonly<
  Record<'responses' | 'messages' | 'translated', Readonly<Record<Vendor, { readonly url: string }>>>
>;

/** Starts the program as an operator does: with a configuration file, in its own process. */
export async function startGateway(folder: string, providers: ProviderUrls): Promise<Gateway> {
  mkdirSync(folder, { recursive: true });
  const file = join(folder, 'faregate.yaml');
  writeFileSync(file, configText(providers));
  const program = start([process.execPath, MAIN, 'serve', '--config', file], {
    directory: folder,
    environment: {
      PATH: process.env.PATH ?? '',
      HOME: folder,
      PORT: '0',
      FAREGATE_DATA_DIR: join(folder, 'data'),
      FAREGATE_ADMIN_TOKEN: ADMIN_TOKEN,
      ACME_API_KEY: 'provider-secret',
      LOG_LEVEL: 'warn',
    },
  });
  let log = '';
  program.child.stderr!.on('data', (text) => {
    log += text;
  });
  const url = (await program.printed(/^listening on (.*)$/m))[1]!;

  const admin = adminClient(url, ADMIN_TOKEN);

  return {
    url,
    async createTenant({ balanceYuan, plan }) {
      const { id } = await admin<{ id: string }>('POST', '/accounts', { name: 'agents', verified: true });
      if (balanceYuan !== undefined) await admin('POST', `/accounts/${id}/top-ups`, { amountYuan: balanceYuan });
      if (plan !== undefined) await admin('POST', `/accounts/${id}/subscriptions`, { planId: plan });
      const key = await admin<{ id: string; key: string }>('POST', `/accounts/${id}/keys`, { name: 'agent' });
      return {
        id,
        key: key.key,
        revokeKey: () => admin('DELETE', `/keys/${key.id}`),
        async calls() {
          const { data } = await admin<{ data: CallRecord[] }>('GET', `/calls?accountId=${id}&limit=500`);
          return data.reverse();
        },
        async money() {
          const account = await admin<{ balanceYuan: string; heldYuan: string }>('GET', `/accounts/${id}`);
          return { balanceNano: parseYuan(account.balanceYuan)!, heldNano: parseYuan(account.heldYuan)! };
        },
        async remainingCalls() {
          const response = await fetch(`${url}/v1/coding/user/balance`, {
            headers: { authorization: `Bearer ${key.key}` },
          });
          return ((await response.json()) as { remaining: number }).remaining;
        },
      };
    },
    setDrained: (provider, isDrained) =>
      admin('POST', `/routes/${isDrained ? 'drain' : 'resume'}`, { provider, model: THINKER }),
    async breaches() {
      const { invariants } = await admin<{ invariants: { name: string; breaches: unknown[] }[] }>('POST', '/audit');
      return invariants.filter(({ breaches }) => breaches.length > 0).map((each) => JSON.stringify(each));
    },
    log: () => log,
    async stop() {
      program.child.kill('SIGINT');
      const { code } = await program.finished;
      assert.equal(code, 0, `the gateway ended with ${code}:\n${log}`);
    },
  };
}

function configText({ responses, messages, translated }: ProviderUrls): string {
  const plans = Object.entries(PLANS).map(
    ([id, { fiveHourCalls, concurrency, inputByteLimit }]) => `
  ${id}:
    name: ${id}
    models: [${MODEL}]
    fiveHourCalls: ${fiveHourCalls}
    weeklyCalls: 5000
    concurrency: ${concurrency}
    quotaTokens: 200000000
    periodDays: 30
    inputByteLimit: ${inputByteLimit}
    outputTokenLimit: 64000`,
  );
  const providers = VENDORS.map(
    (vendor) => `
  ${vendor}: { protocol: chat, baseUrl: ${responses[vendor].url}/v1, apiKey: "\${ACME_API_KEY}" }
  ${vendor}-messages: { protocol: messages, vendor: anthropic, baseUrl: ${messages[vendor].url}, apiKey: "\${ACME_API_KEY}" }`,
  );
  const routes = VENDORS.flatMap((vendor) => [vendor, `${vendor}-messages`]).map(
    (provider) => `{ provider: ${provider}, model: ${THINKER} }`,
  );
  const thinker = `
  ${THINKER}:
    affinity: off
    operations: [responses, messages]
    price: { input: "3", cachedInput: "0.7", output: "13" }
    routes: [${routes.join(', ')}]
`;
  const { url } = translated.acme;
  const names = Object.values(TRANSLATED).flatMap(({ model, known }) => [model, known]);
  const translatedModels = names.map((name) => {
    const to = name === TRANSLATED.chat.model || name === TRANSLATED.chat.known ? 'chat' : 'messages';
    const operations = to === 'chat' ? 'messages, responses' : 'chat, responses';
    return `
  ${name}:
    maxOutputTokens: "64000"
    operations: [${operations}]
    price: { input: "3", cachedInput: "0.7", output: "13" }
    routes: [{ provider: only-${to}, model: ${PROVIDER_MODEL}, translate: [${operations}] }]
`;
  });
  return `
server: { protocolNames: { messages: altproto } }
billing: { timezone: Asia/Shanghai }
providers:${providers.join('')}
  only-chat: { protocol: chat, serves: [chat], baseUrl: ${url}/v1, apiKey: "\${ACME_API_KEY}", dialect: { reasoning: thinking, replay: reasoning_content } }
  only-messages: { protocol: messages, baseUrl: ${url}, apiKey: "\${ACME_API_KEY}", dialect: { thinking: adaptive, promptCache: auto } }
${settingsFile('faregate.yaml')}${thinker}${translatedModels.join('')}plans:${plans.join('')}
`;
}

/** The charge at the prices above, calculated independently of the gateway. */
export function costNano({ input, cached, output }: { input: number; cached: number; output: number }): bigint {
  return BigInt(input) * PRICES.input + BigInt(cached) * PRICES.cached + BigInt(output) * PRICES.output;
}
