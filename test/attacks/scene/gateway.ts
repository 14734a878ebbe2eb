import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { start } from '../../agents/child.ts';
import { type AdminClient, adminClient } from '../../support/admin-client.ts';
import type { CallerTerms } from '../attack.ts';
import { type ConfigOptions, configText } from './config.ts';
import { childrenOf } from './memory.ts';

const MAIN = fileURLToPath(new URL('../../../src/main.ts', import.meta.url));
export const ADMIN_TOKEN = 'attacks-admin-token-5b1c9e';

/** Heap limit for a container of 2 GB. It applies to the main thread, and by default to workers. */
const HEAP_MIB = 1024;

export interface Account {
  readonly id: string;
  readonly key: string;
}

export interface Gateway {
  readonly url: string;
  readonly pid: number;
  readonly admin: AdminClient;
  /** `null` while it runs. */
  death(): string | null;
  createAccounts(name: string, terms: CallerTerms): Promise<Account[]>;
  stop(): Promise<void>;
}

/** Number of accounts created concurrently. */
const AT_ONCE = 16;

/** Starts the program as an operator does: with a configuration file, in its own process. */
export async function startGateway(
  folder: string,
  options: Omit<ConfigOptions, 'dataDir'>,
  workers = 1,
): Promise<Gateway> {
  mkdirSync(folder, { recursive: true });
  const file = join(folder, 'faregate.yaml');
  writeFileSync(file, configText({ ...options, dataDir: join(folder, 'data') }));
  const program = start(
    [
      process.execPath,
      `--max-old-space-size=${HEAP_MIB}`,
      MAIN,
      'serve',
      '--config',
      file,
      '--workers',
      String(workers),
    ],
    {
      directory: folder,
      environment: {
        PATH: process.env.PATH ?? '',
        HOME: folder,
        FAREGATE_ADMIN_TOKEN: ADMIN_TOKEN,
        LOG_LEVEL: 'error',
      },
    },
  );
  let log = '';
  let death: string | null = null;
  program.child.stderr!.on('data', (text) => {
    log = (log + text).slice(-4000);
    // The gateway continues, but an attack has stopped a worker that served others.
    if (log.includes('a worker has died')) death ??= `a worker died: ${log.slice(-300)}`;
  });
  program.child.on('exit', (code, signal) => {
    death = `ended with ${code ?? signal}: ${/FATAL ERROR.*/.exec(log)?.[0] ?? log.slice(-300)}`;
  });
  const url = (await program.printed(/^listening on (.*)$/m))[1]!;
  const admin = adminClient(url, ADMIN_TOKEN);

  async function createAccount(name: string, { balanceYuan, plan, scopes = ['calls'] }: CallerTerms): Promise<Account> {
    const { id } = await admin<{ id: string }>('POST', '/accounts', { name, verified: true });
    if (balanceYuan !== undefined) await admin('POST', `/accounts/${id}/top-ups`, { amountYuan: balanceYuan });
    if (plan !== undefined) await admin('POST', `/accounts/${id}/subscriptions`, { planId: plan });
    const { key } = await admin<{ key: string }>('POST', `/accounts/${id}/keys`, { name, scopes });
    return { id, key };
  }

  return {
    url,
    pid: program.child.pid!,
    admin,
    death: () => death,
    async createAccounts(name, terms) {
      const made: Account[] = [];
      // At most as many as the admin API's connections allow, so that preparation overloads nobody.
      for (let left = terms.accounts ?? 1; left > 0; left -= AT_ONCE) {
        const some = Array.from({ length: Math.min(left, AT_ONCE) }, () => createAccount(name, terms));
        made.push(...(await Promise.all(some)));
      }
      return made;
    },
    async stop() {
      const workers = childrenOf(program.child.pid!);
      program.child.kill('SIGKILL');
      for (const pid of workers) process.kill(pid, 'SIGKILL');
      await program.finished;
    },
  };
}
