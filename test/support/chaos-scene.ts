import { type ChildProcess, type ForkOptions, fork } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { type AdminClient, adminClient } from './admin-client.ts';
import type { CallKind } from './chaos-calls.ts';
import type { ProbeReading } from './chaos-probe.ts';
import type { SimulatorReport } from './chaos-simulator.ts';
import { type Finished, type RunningProgram, startProgram } from './process.ts';

/** The processes of a chaos run: two faulty providers and one or more gateways, started as users start them. */

const SIMULATOR = fileURLToPath(new URL('./chaos-simulator.ts', import.meta.url));
const PROBE = new URL('./chaos-probe.ts', import.meta.url).href;
const ADMIN_TOKEN = 'chaos-admin-token';

/** A provider that can stop and restart at the same address. */
export class Simulator {
  readonly url: string;
  #child: ChildProcess;
  readonly #reports: SimulatorReport[] = [];

  static async start(): Promise<Simulator> {
    const child = fork(SIMULATOR, ['0'], STDIO);
    const { url } = await nextMessage<{ url: string }>(child);
    return new Simulator(child, url);
  }

  private constructor(child: ChildProcess, url: string) {
    this.#child = child;
    this.url = url;
  }

  /** Stops at once, whatever is in flight. */
  async leave(): Promise<void> {
    const gone = once(this.#child, 'exit');
    const report = nextMessage<SimulatorReport>(this.#child);
    this.#child.send('leave');
    this.#reports.push(await report);
    await gone;
  }

  async comeBack(): Promise<void> {
    this.#child = fork(SIMULATOR, [new URL(this.url).port], STDIO);
    await nextMessage(this.#child);
  }

  /** The sum over all its starts. The provider has stopped. */
  get report(): SimulatorReport {
    const faults: Record<string, number> = {};
    for (const report of this.#reports) {
      for (const [fault, count] of Object.entries(report.faults)) faults[fault] = (faults[fault] ?? 0) + count;
    }
    return { executed: this.#reports.flatMap(({ executed }) => executed), faults };
  }

  kill(): void {
    this.#child.kill('SIGKILL');
  }
}

const STDIO: ForkOptions = { stdio: ['ignore', 'ignore', 'inherit', 'ipc'] };

/** The next message of a process. Rejects if the process ends without one. */
function nextMessage<Message>(child: ChildProcess): Promise<Message> {
  return new Promise((resolve, reject) => {
    child.once('message', (message) => resolve(message as Message));
    child.once('exit', (code) => reject(new Error(`a simulated provider ended with exit code ${code}`)));
  });
}

export class GatewayProcess {
  readonly url: string;
  readonly admin: AdminClient;
  /** Rejects if the process ends unexpectedly. */
  readonly died: Promise<never>;
  readonly #program: RunningProgram;
  readonly #probeUrl: string;
  #isStopping = false;

  /** Serves the configuration file. The environment may point to a database. */
  static async start(configFile: string, environment: Record<string, string>): Promise<GatewayProcess> {
    const program = startProgram(['serve', '--config', configFile], {
      environment: { FAREGATE_ADMIN_TOKEN: ADMIN_TOKEN, NODE_OPTIONS: `--import=${PROBE}`, ...environment },
    });
    const printed = await program.printed(/^listening on .*$/m);
    return new GatewayProcess(program, printed);
  }

  private constructor(program: RunningProgram, printed: string) {
    this.#program = program;
    this.url = /^listening on (.*)$/m.exec(printed)![1]!;
    this.admin = adminClient(this.url, ADMIN_TOKEN);
    this.#probeUrl = /^probe on (.*)$/m.exec(printed)![1]!;
    const { promise, reject } = Promise.withResolvers<never>();
    this.died = promise;
    // Prevents an unhandled rejection while no call is being made.
    promise.catch(() => undefined);
    void program.finished.then(({ code, stderr }) => {
      if (!this.#isStopping)
        reject(new Error(`the gateway ended by itself, exit code ${code}: ${stderr.slice(-4000)}`));
    });
  }

  async probe(path: '/' | '/settled'): Promise<ProbeReading> {
    const response = await fetch(this.#probeUrl + path);
    return (await response.json()) as ProbeReading;
  }

  /** Stops it as an operator does. Returns everything that it printed. */
  stop(signal: 'SIGINT' | 'SIGKILL' = 'SIGINT'): Promise<Finished> {
    this.#isStopping = true;
    this.#program.child.kill(signal);
    return this.#program.finished;
  }
}

/** A key, and its share of the calls in its context. */
interface KeyPlan {
  readonly context: CallKind['context'];
  readonly weight: number;
  readonly limits?: { readonly dailySpendCapYuan?: string; readonly concurrency?: number };
}

interface AccountPlan {
  readonly name: string;
  readonly balanceYuan?: string;
  readonly dailySpendCapYuan?: string;
  readonly planId?: string;
  readonly keys: readonly KeyPlan[];
}

const balanceKey = (weight: number, limits: KeyPlan['limits'] = {}): KeyPlan => ({
  context: 'balance',
  weight,
  limits,
});
const codingKey = (weight: number, limits: KeyPlan['limits'] = {}): KeyPlan => ({ context: 'coding', weight, limits });

/** Most accounts have plenty of money. Some run out of balance, of a key's limit, or of their plan. */
const ACCOUNTS: readonly AccountPlan[] = [
  { name: 'rich', balanceYuan: '1000', keys: [balanceKey(20), balanceKey(10)] },
  { name: 'also rich', balanceYuan: '1000', keys: [balanceKey(20), balanceKey(6, { concurrency: 3 })] },
  { name: 'rich too', balanceYuan: '1000', keys: [balanceKey(20), balanceKey(2, { dailySpendCapYuan: '0.3' })] },
  { name: 'poor', balanceYuan: '0.4', keys: [balanceKey(2)] },
  { name: 'poorer', balanceYuan: '0.04', keys: [balanceKey(1)] },
  { name: 'careful', balanceYuan: '1000', dailySpendCapYuan: '0.5', keys: [balanceKey(2)] },
  { name: 'programmer', planId: 'roomy', keys: [codingKey(6), codingKey(2, { concurrency: 1 })] },
  { name: 'patient programmer', balanceYuan: '1000', planId: 'queued', keys: [codingKey(4), balanceKey(2)] },
  { name: 'busy programmer', planId: 'small', keys: [codingKey(2)] },
];

export interface ChaosKey extends KeyPlan {
  readonly key: string;
  readonly accountId: string;
}

/** Creates the accounts; returns their keys by context. */
export async function createKeys(gateway: GatewayProcess): Promise<Record<CallKind['context'], ChaosKey[]>> {
  const keys: Record<CallKind['context'], ChaosKey[]> = { balance: [], coding: [] };
  for (const { name, balanceYuan, dailySpendCapYuan, planId, keys: planned } of ACCOUNTS) {
    const { id } = await gateway.admin('POST', '/accounts', { name, verified: true, dailySpendCapYuan });
    if (balanceYuan !== undefined) {
      await gateway.admin('POST', `/accounts/${id}/top-ups`, { amountYuan: balanceYuan });
    }
    if (planId !== undefined) await gateway.admin('POST', `/accounts/${id}/subscriptions`, { planId });
    for (const plan of planned) {
      const { key } = await gateway.admin('POST', `/accounts/${id}/keys`, { name, ...plan.limits });
      keys[plan.context].push({ ...plan, key, accountId: id });
    }
  }
  return keys;
}

/** Every model has a route to both providers. Prices as in `gateway.ts`. */
export function writeConfig(file: string, north: string, south: string): void {
  const providers = Object.entries({ north, south }).map(
    ([name, url]) => `
  ${name}-chat: { protocol: chat, baseUrl: "${url}/v1", apiKey: ${name}-provider-key-1 }
  ${name}-rerank: { protocol: chat, baseUrl: "${url}/v2", apiKey: ${name}-provider-key-2 }
  ${name}-messages: { protocol: messages, vendor: anthropic, baseUrl: "${url}", apiKey: ${name}-provider-key-3 }`,
  );
  const routes = (...kinds: readonly string[]): string =>
    `[${kinds.flatMap((kind) => ['north', 'south'].map((name) => `{ provider: ${name}-${kind}, model: simulated }`))}]`;
  const plan = (name: string, fields: string): string =>
    `{ name: ${name}, models: [talk], weeklyCalls: 100000, quotaTokens: 1000000000, periodDays: 30, inputByteLimit: 4MiB,
    outputTokenLimit: 1000, ${fields} }`;
  writeFileSync(
    file,
    `
server: { port: 0 }
billing: { timezone: UTC }
routing: { breaker: { probeAfter: 1s } }
providers: ${providers.join('')}
models:
  talk:
    maxOutputTokens: "200"
    operations: [chat, messages, responses]
    price: { input: "3", output: "13" }
    routes: ${routes('chat', 'messages')}
  embed:
    operations: [embeddings]
    price: { input: "3" }
    routes: ${routes('chat')}
  rank:
    operations: [rerank]
    price: { perCall: "0.017000003" }
    routes: ${routes('rerank')}
plans:
  roomy: ${plan('Roomy', 'fiveHourCalls: 100000, concurrency: 5')}
  queued: ${plan('Queued', 'fiveHourCalls: 100000, concurrency: 2, queue: { length: 40, wait: 60s }')}
  small: ${plan('Small', 'fiveHourCalls: 40, concurrency: 5')}
`,
  );
}
