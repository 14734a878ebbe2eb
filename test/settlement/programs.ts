import { writeFileSync } from 'node:fs';
import { adminClient } from '../support/admin-client.ts';
import { ADMIN_TOKEN, testConfigText } from '../support/gateway.ts';
import { placeLocal } from '../support/local-database.ts';
import { type Finished, type RunningProgram, startProgram } from '../support/process.ts';
import { type Admin, PLANS } from './callers.ts';

/** The real program, as the nodes that tests kill: with its own timing, and data that outlive it. */

export interface ServingProgram {
  readonly url: string;
  readonly admin: Admin;
  /** Kills it; resolves with the time of the kill once the process is gone. */
  kill(): Promise<number>;
  /** Stops it as an operator does. */
  stop(): Promise<Finished>;
}

export interface ServingOptions {
  readonly providerUrl: string;
  /** The directory that its configuration is written to. */
  readonly dataDir: string;
  /** Empty: the local server of the data directory. */
  readonly databaseUrl?: string;
  /** The `plans` section of its configuration. */
  readonly plans?: string;
}

export async function serve({
  providerUrl,
  dataDir,
  databaseUrl = '',
  plans = PLANS,
}: ServingOptions): Promise<ServingProgram> {
  const configFile = `${dataDir}.yaml`;
  if (databaseUrl === '') placeLocal(dataDir);
  writeFileSync(configFile, testConfigText(providerUrl, { dataDir, plans }));
  const program: RunningProgram = startProgram(['serve', '--config', configFile], {
    environment: { FAREGATE_ADMIN_TOKEN: ADMIN_TOKEN, DATABASE_URL: databaseUrl },
  });
  const [, url] = /^listening on (.*)$/m.exec(await program.printed(/^listening on .*$/m))!;

  return {
    url: url!,
    admin: adminClient(url!, ADMIN_TOKEN),
    async kill() {
      const atMs = Date.now();
      program.child.kill('SIGKILL');
      await program.finished;
      return atMs;
    },
    stop() {
      program.child.kill('SIGINT');
      return program.finished;
    },
  };
}
