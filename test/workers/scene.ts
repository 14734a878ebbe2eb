import { writeFileSync } from 'node:fs';
import { PLANS } from '../settlement/callers.ts';
import { type AdminClient, adminClient } from '../support/admin-client.ts';
import { ADMIN_TOKEN, send, testConfigText } from '../support/gateway.ts';
import { type RunningProgram, startProgram } from '../support/process.ts';

/** The real program with several workers, as an operator starts it. */

/** A process that serves as a worker. */
export interface WorkerLine {
  readonly worker: number;
  readonly nodeId: string;
  readonly process: number;
}

// biome-ignore lint/suspicious/noExplicitAny: tests read what they expect to be there
export type LogLine = any;

export interface WorkersProgram {
  readonly url: string;
  /** Where metrics and health of all workers are. */
  readonly metricsUrl: string;
  readonly admin: AdminClient;
  readonly program: RunningProgram;
  /** What the log says so far. */
  log(): Promise<LogLine[]>;
  /** The processes that have served as workers, in the order in which they began to. */
  workers(): Promise<WorkerLine[]>;
}

export interface WorkersOptions {
  readonly providerUrl: string;
  readonly databaseUrl: string;
  readonly dataDir: string;
  readonly workers: number;
  readonly server?: string;
  /** By default one. */
  readonly partitions?: number;
}

export function writeConfig({
  providerUrl,
  dataDir,
  server = '',
  partitions = 1,
}: Omit<WorkersOptions, 'workers' | 'databaseUrl'>): string {
  const file = `${dataDir}.yaml`;
  writeFileSync(file, testConfigText(providerUrl, { dataDir, plans: PLANS, server, partitions }));
  return file;
}

export async function startWorkers(options: WorkersOptions): Promise<WorkersProgram> {
  const server = `metrics: "127.0.0.1:0", drainDelay: 0s, ${options.server ?? ''}`;
  const file = writeConfig({ ...options, server });
  const program = startProgram(['serve', '--config', file, '--workers', String(options.workers)], {
    environment: { FAREGATE_ADMIN_TOKEN: ADMIN_TOKEN, DATABASE_URL: options.databaseUrl },
  });
  const [, url] = /^listening on (.*)$/m.exec(await program.printed(/^listening on .*$/m))!;
  const log = async (): Promise<LogLine[]> => linesOf(await program.printed(/^/));
  const lines = await log();
  return {
    url: url!,
    metricsUrl: lines.find(({ msg }) => msg === 'metrics of all workers are served').url,
    admin: adminClient(url!, ADMIN_TOKEN),
    program,
    log,
    workers: async () => (await log()).filter(({ msg }) => msg === 'a worker serves'),
  };
}

function linesOf(text: string): LogLine[] {
  return text
    .split('\n')
    .filter((line) => line.startsWith('{') && line.endsWith('}'))
    .map((line) => JSON.parse(line));
}

/** Asks on a connection of its own, so that workers take turns. */
export function askOnce(url: string, headers: Record<string, string> = {}, body?: object) {
  return send(url, body === undefined ? 'GET' : 'POST', body, headers, false);
}

/** Whether a process of this id runs. */
export function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
