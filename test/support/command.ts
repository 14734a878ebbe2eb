import { EventEmitter } from 'node:events';
import { Readable } from 'node:stream';
import { runCli } from '../../src/cli/program.ts';
import type { Finished } from './process.ts';

/**
 * Runs a command of the command line in this process, in the current directory. Returns its output and exit code. Signals and the exit of
 * a process are tested with `runProgram`, which takes a second per command.
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
    // A command that opens its own database replaces this.
    process.umask(umask);
  }
}

/** A gateway that `faregate serve` runs in this process. */
export interface ServedHere {
  readonly url: string;
  /** Output so far. */
  printed(): string;
  /** Stops it as a signal does, after calls in flight. Resolves with its output. */
  stop(): Promise<string>;
}

/**
 * Runs `serve` with these flags in this process; resolves once it listens. Logs errors only. Whatever needs a real process is tested with
 * `startProgram`, which takes seconds of CPU.
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
      // The demo prints its banner last, in one write.
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
