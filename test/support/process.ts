import { type ChildProcess, spawn } from 'node:child_process';
import { tmpdir } from 'node:os';
import { after } from 'node:test';
import { fileURLToPath } from 'node:url';
import { CANARIES } from './canaries.ts';
import { makeFastDirectory } from './fast-directory.ts';
import { removeDirectory } from './local-database.ts';

/** The real program in its own process, as a user runs it. */
const MAIN = fileURLToPath(new URL('../../src/main.ts', import.meta.url));

const { PATH, HOME, NODE_COMPILE_CACHE } = process.env;

/**
 * Compile cache of the program. It has its own directory, because V8 rejects code compiled under other flags: sharing one with the tests,
 * which set no flags, each would overwrite the other's entries.
 */
export const PROGRAM_CACHE: Readonly<Record<string, string>> =
  NODE_COMPILE_CACHE === undefined ? {} : { NODE_COMPILE_CACHE: `${NODE_COMPILE_CACHE}-of-programs` };

export interface Finished {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface RunningProgram {
  readonly child: ChildProcess;
  /** Resolves with the output so far once it matches the pattern; rejects if the program exits first. */
  printed(pattern: RegExp): Promise<string>;
  readonly finished: Promise<Finished>;
}

export interface ProgramOptions {
  readonly environment?: Record<string, string>;
  readonly directory?: string;
  /** The file to run; by default the source. */
  readonly main?: string;
}

export function temporaryDirectory(): { path: string; remove(): void } {
  const path = makeFastDirectory('faregate-cli-');
  return { path, remove: () => removeDirectory(path) };
}

const running = new Set<ChildProcess>();

// A failed test may leave its program running, which must not keep the run alive.
after(() => {
  for (const child of running) child.kill('SIGKILL');
});

/** Starts the program. Its environment is the given one, what the system needs, and the compile cache. */
export function startProgram(given: readonly string[], options: ProgramOptions = {}): RunningProgram {
  const child = spawn(process.execPath, [options.main ?? MAIN, ...given], {
    cwd: options.directory ?? tmpdir(),
    env: { PATH, HOME, ...PROGRAM_CACHE, ...options.environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  running.add(child);
  child.on('exit', () => running.delete(child));
  let stdout = '';
  let stderr = '';
  const listeners = new Set<() => void>();
  const onOutput = (): void => {
    for (const listener of listeners) listener();
  };
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    stdout += text;
    onOutput();
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text;
    onOutput();
  });
  const finished = new Promise<Finished>((resolve, reject) => {
    child.on('close', (code) => {
      const canary = CANARIES.find((text) => stderr.includes(text));
      if (canary === undefined) resolve({ code, stdout, stderr });
      else reject(new Error(`the log has "${canary}" in it:\n${stderr}`));
    });
  });
  return {
    child,
    finished,
    printed: (pattern) =>
      new Promise((resolve, reject) => {
        const check = (): void => {
          if (!pattern.test(stdout + stderr)) return;
          listeners.delete(check);
          resolve(stdout + stderr);
        };
        listeners.add(check);
        check();
        void finished.then(
          () => reject(new Error(`the program ended without printing ${pattern}:\n${stdout}\n${stderr}`)),
          reject,
        );
      }),
  };
}

/** Runs the program until it exits. */
export function runProgram(given: readonly string[], options: ProgramOptions = {}): Promise<Finished> {
  return startProgram(given, options).finished;
}
