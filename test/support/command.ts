import { Readable } from 'node:stream';
import { runCli } from '../../src/cli/program.ts';
import type { Database } from '../../src/db/database.ts';
import { openEmbedded } from '../../src/db/embedded.ts';
import { describePostgres } from '../../src/db/postgres.ts';
import { createTestDatabase, placeEmbedded } from './database.ts';
import type { Finished } from './process.ts';
import { isQuickRun } from './scope.ts';

/** An empty database for commands while no gateway runs. */
export interface CommandsDatabase {
  /** Of the commands; the data directory is among it. */
  readonly environment: Record<string, string>;
  /** What commands call it. */
  readonly name: string;
  open(): Promise<Database>;
  remove(): Promise<void>;
}

/**
 * Embedded, as that of a newcomer; a quick run has PostgreSQL, which a command opens in a tenth of the time. What differs with
 * the engine has its tests in `test/cli/database.test.ts`.
 */
export async function createCommandsDatabase(dataDir: string): Promise<CommandsDatabase> {
  if (!isQuickRun) {
    placeEmbedded(dataDir);
    return {
      environment: { FAREGATE_DATA_DIR: dataDir },
      name: `embedded, in ${dataDir}`,
      open: () => openEmbedded({ dataDir }),
      remove: async () => undefined,
    };
  }
  const stored = await createTestDatabase('postgresql');
  return {
    environment: { FAREGATE_DATA_DIR: dataDir, DATABASE_URL: stored.url },
    name: describePostgres(stored.url),
    open: async () => stored.openAnother(),
    remove: () => stored.remove(),
  };
}

/**
 * Carries out a command of the command line in this process, from the current directory. It returns what the program would
 * print and its exit code; what a process has beyond that, its end included, is tested with `runProgram`, which takes a
 * second for each command.
 */
export async function runCommand(
  given: readonly string[],
  environment: Record<string, string>,
  stdin?: string,
): Promise<Finished> {
  const printed = { stdout: '', stderr: '' };
  const umask = process.umask();
  try {
    const code = await runCli(given, {
      environment,
      ...(stdin === undefined ? {} : { stdin: Readable.from([stdin]) }),
      writeOut: (text) => {
        printed.stdout += text;
      },
      writeError: (text) => {
        printed.stderr += text;
      },
    });
    return { code, ...printed };
  } finally {
    // A command that opens a database of its own narrows it.
    process.umask(umask);
  }
}
