import { type ChildProcess, spawn } from 'node:child_process';

export interface Started {
  readonly child: ChildProcess;
  /** Resolves with the first match in standard output; rejects if the program exits without one. */
  printed(pattern: RegExp): Promise<RegExpExecArray>;
  readonly finished: Promise<Finished>;
}

export interface Finished {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
  readonly durationMs: number;
}

export interface StartOptions {
  readonly directory: string;
  /** The complete environment: nothing is inherited. */
  readonly environment: Record<string, string>;
  /** After this time the program and all its children are killed. */
  readonly limitMs?: number;
}

/** Running programs, each in its own process group, so that no child outlives the run. */
const running = new Set<ChildProcess>();

process.on('exit', () => {
  for (const child of running) killGroup(child);
});

// Signals stop the programs too.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));

export function start([command, ...given]: readonly string[], options: StartOptions): Started {
  const startedAtMs = performance.now();
  const child = spawn(command!, given, {
    cwd: options.directory,
    env: options.environment,
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  });
  running.add(child);
  let stdout = '';
  let stderr = '';
  const listeners = new Set<() => void>();
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    stdout += text;
    for (const listener of listeners) listener();
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text;
  });
  const limit = options.limitMs === undefined ? null : setTimeout(() => killGroup(child), options.limitMs);
  const finished = new Promise<Finished>((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (code) => {
      running.delete(child);
      if (limit !== null) clearTimeout(limit);
      resolve({ code, stdout, stderr, durationMs: performance.now() - startedAtMs });
    });
  });
  return {
    child,
    finished,
    printed: (pattern) =>
      new Promise((resolve, reject) => {
        const check = (): void => {
          const match = pattern.exec(stdout);
          if (match === null) return;
          listeners.delete(check);
          resolve(match);
        };
        listeners.add(check);
        check();
        finished.then(() => reject(new Error(`ended without printing ${pattern}:\n${stdout}\n${stderr}`)), reject);
      }),
  };
}

function killGroup(child: ChildProcess): void {
  if (child.pid === undefined) return;
  try {
    process.kill(-child.pid, 'SIGKILL');
  } catch {
    // The process has exited.
  }
}
