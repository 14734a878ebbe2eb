import { Readable } from 'node:stream';
import { runCli } from '../../src/cli/program.ts';
import type { Finished } from './process.ts';

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
