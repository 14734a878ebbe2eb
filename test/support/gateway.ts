import assert from 'node:assert/strict';
import { createGateway, type Gateway } from '../../src/app.ts';
import { parseConfig } from '../../src/config/load.ts';
import type { Database } from '../../src/db/database.ts';
import type { Clock } from '../../src/lib/clock.ts';
import { silentLogger } from '../../src/lib/logger.ts';
import { parseYuan } from '../../src/pricing/yuan.ts';
import { createTestDatabase, type Engine, type TestDatabase } from './database.ts';
import { type ScriptedProvider, startProvider } from './provider.ts';

export const ADMIN_TOKEN = 'test-admin-token';

/** A real gateway on loopback, with a scripted provider behind it. */
export interface TestGateway {
  readonly url: string;
  readonly provider: ScriptedProvider;
  readonly database: Database;
  readonly gateway: Gateway;
  /** Creates a verified account with a key and, unless told otherwise, ¥100. */
  createAccount(options?: {
    balanceYuan?: string;
    dailySpendCapYuan?: string;
    verified?: boolean;
  }): Promise<TestAccount>;
  /** Sends a request to the admin API; answers status and body. */
  admin(method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<AdminAnswer>;
  /** Stops everything and fails if a hold was left behind or an invariant of the ledger is broken. */
  stop(): Promise<void>;
}

export interface AdminAnswer {
  readonly status: number;
  // biome-ignore lint/suspicious/noExplicitAny: tests read what they expect to be there
  readonly body: any;
}

export interface TestAccount {
  readonly id: string;
  readonly key: string;
  readonly keyId: string;
  /** The money of the account, in nano-yuan. */
  money(): Promise<{ balanceNano: bigint; heldNano: bigint }>;
  /** The newest call record, as the admin API shows it. */
  // biome-ignore lint/suspicious/noExplicitAny: tests read what they expect to be there
  lastCall(): Promise<any>;
}

export interface TestGatewayOptions {
  readonly engine?: Engine;
  readonly clock?: Clock;
  /** YAML that is added to the configuration, such as `server: { bodyLimit: 1KiB }`. */
  readonly server?: string;
  readonly billing?: string;
  readonly models?: string;
  /** YAML of provider fields, such as `timeouts: { firstByte: 50ms }`. */
  readonly providerFields?: string;
  readonly isStrict?: boolean;
}

/**
 * Models of the test configuration. Prices are primes in nano-yuan per token, so that a wrong count cannot come to the
 * right sum: input 3000, cached 700, write 5000, one-hour write 11000, output 13000.
 */
const PRICE = '{ input: "3", cachedInput: "0.7", cacheWrite: "5", cacheWrite1h: "11", output: "13" }';

export function testConfigText(providerUrl: string, options: TestGatewayOptions = {}): string {
  return `
server: { port: 0, ${options.server ?? ''} }
billing: { timezone: Asia/Shanghai, ${options.billing ?? ''} }
providers:
  chatty: { protocol: chat, baseUrl: ${providerUrl}/v1, apiKey: provider-secret-key-1, ${options.providerFields ?? ''} }
  messy: { protocol: messages, vendor: anthropic, baseUrl: ${providerUrl}, apiKey: provider-secret-key-2, ${options.providerFields ?? ''} }
models:
  test-chat:
    aliases: [test-chat-latest]
    maxOutputTokens: "100"
    operations: [chat]
    price: ${PRICE}
    routes: [{ provider: chatty, model: upstream-chat }]
  test-messages:
    maxOutputTokens: "100"
    operations: [messages]
    price: ${PRICE}
    routes: [{ provider: messy, model: upstream-messages }]
  test-both:
    operations: [chat, messages]
    price: ${PRICE}
    routes: [{ provider: chatty, model: test-both }, { provider: messy, model: test-both }]
  test-hidden:
    listed: false
    operations: [chat]
    price: ${PRICE}
    routes: [{ provider: chatty, model: hidden }]
  test-embeddings:
    operations: [embeddings]
    price: ${PRICE}
    routes: [{ provider: chatty, model: embedder }]
  test-unrouted:
    operations: [chat]
    price: ${PRICE}
    routes: [{ provider: messy, model: nowhere }]
${options.models ?? ''}
`;
}

export async function startGateway(options: TestGatewayOptions = {}): Promise<TestGateway> {
  const provider = await startProvider();
  const stored: TestDatabase = await createTestDatabase(options.engine ?? 'embedded');
  const config = parseConfig(testConfigText(provider.url, options), 'test.yaml', {});
  const gateway = await createGateway({
    config,
    database: stored.database,
    logger: silentLogger,
    adminTokens: [ADMIN_TOKEN],
    ...(options.clock === undefined ? {} : { clock: options.clock }),
  });
  const url = await gateway.listen();

  async function admin(method: string, path: string, body?: unknown, headers: Record<string, string> = {}) {
    const response = await fetch(`${url}/admin/v1${path}`, {
      method,
      headers: {
        authorization: `Bearer ${ADMIN_TOKEN}`,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    return { status: response.status, body: text === '' ? null : JSON.parse(text) };
  }

  return {
    url,
    provider,
    gateway,
    database: stored.database,
    admin,
    async createAccount({ balanceYuan = '100', dailySpendCapYuan, verified = true } = {}) {
      const account = await admin('POST', '/accounts', { name: 'tester', verified, dailySpendCapYuan });
      assert.equal(account.status, 201, JSON.stringify(account.body));
      const id: string = account.body.id;
      if (balanceYuan !== '0') {
        const topUp = await admin('POST', `/accounts/${id}/top-ups`, { amountYuan: balanceYuan });
        assert.equal(topUp.status, 201, JSON.stringify(topUp.body));
      }
      const key = await admin('POST', `/accounts/${id}/keys`, { name: 'test' });
      assert.equal(key.status, 201, JSON.stringify(key.body));
      return {
        id,
        key: key.body.key,
        keyId: key.body.id,
        async money() {
          const { body } = await admin('GET', `/accounts/${id}`);
          return { balanceNano: parseYuan(body.balanceYuan)!, heldNano: parseYuan(body.heldYuan)! };
        },
        async lastCall() {
          const { body } = await admin('GET', `/calls?accountId=${id}&limit=1`);
          return body.data[0];
        },
      };
    },
    async stop() {
      try {
        const { body } = await admin('GET', '/audit');
        assert.equal(body.isSound, true, JSON.stringify(body.invariants, null, 1));
        const [left] = await stored.database.query<{ holds: bigint }>({
          name: 'test.count-holds',
          text: 'select count(*) as holds from holds',
        });
        assert.equal(left?.holds, 0n, 'holds were left behind');
      } finally {
        await gateway.close();
        await provider.close();
        await stored.remove();
      }
    },
  };
}
