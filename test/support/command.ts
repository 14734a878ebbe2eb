import { EventEmitter } from 'node:events';
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

/** A gateway that `faregate serve` runs in this process. */
export interface ServedHere {
  readonly url: string;
  /** What it has printed so far. */
  printed(): string;
  /** Has it finish what is under way, as a signal does; resolves with what was printed once it has stopped. */
  stop(): Promise<string>;
}

/**
 * Serves in this process, as `serve` with these flags does; resolves once it has said so. Only its errors are logged. What a
 * process has beyond that is tested with `startProgram`, which takes seconds of the processor.
 */
export async function serveHere(flags: readonly string[], environment: Record<string, string>): Promise<ServedHere> {
  const signals = new EventEmitter();
  const umask = process.umask();
  const isServing = Promise.withResolvers<void>();
  let text = '';
  const finished = runCli(['serve', ...flags], {
    environment: { LOG_LEVEL: 'error', ...environment },
    signals,
    writeOut(part) {
      text += part;
      // The banner of the demo comes last, and in one piece.
      if (/^listening on /m.test(text)) setImmediate(isServing.resolve);
    },
    writeError(part) {
      text += part;
    },
  }).finally(() => process.umask(umask));
  await Promise.race([
    isServing.promise,
    finished.then((code) => {
      throw new Error(`it ended with exit code ${code} before it served:\n${text}`);
    }),
  ]);
  return {
    url: /^listening on (\S+)$/m.exec(text)![1]!,
    printed: () => text,
    async stop() {
      signals.emit('SIGINT');
      const code = await finished;
      if (code !== 0) throw new Error(`it ended with exit code ${code}:\n${text}`);
      return text;
    },
  };
}
