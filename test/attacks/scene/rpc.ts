import { type ChildProcess, fork } from 'node:child_process';

/** Requests and responses between the runner and its child processes. */

interface Question {
  readonly id: number;
  readonly name: string;
  readonly value: unknown;
}

interface Reply {
  readonly id: number;
  readonly value?: unknown;
  readonly error?: string;
}

// biome-ignore lint/suspicious/noExplicitAny: each side knows what the other one sends
type Handler = (value: any) => unknown;

/** Responds to requests of the parent process until it exits. */
export function responseParent(handlers: Readonly<Record<string, Handler>>): void {
  process.on('message', ({ id, name, value }: Question) => {
    void (async () => {
      try {
        process.send?.({ id, value: await handlers[name]!(value) } satisfies Reply);
      } catch (error) {
        process.send?.({ id, error: error instanceof Error ? (error.stack ?? error.message) : String(error) });
      }
    })();
  });
  process.on('disconnect', () => process.exit(0));
}

export interface Child {
  readonly process: ChildProcess;
  ask<Response>(name: string, value?: unknown): Promise<Response>;
  stop(): void;
}

/** Starts a file as a process. `folder`: a module in the same folder; by default this one. */
export function startChild(file: string, folder = import.meta.url): Child {
  const child = fork(new URL(file, folder), { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
  const waiting = new Map<number, { resolve(value: never): void; reject(error: Error): void }>();
  let lastId = 0;
  child.on('message', ({ id, value, error }: Reply) => {
    const asked = waiting.get(id);
    waiting.delete(id);
    if (error === undefined) asked?.resolve(value as never);
    else asked?.reject(new Error(error));
  });
  child.on('exit', (code, signal) => {
    for (const { reject } of waiting.values()) reject(new Error(`${file} ended with ${code ?? signal}`));
    waiting.clear();
  });
  return {
    process: child,
    ask: (name, value) =>
      new Promise((resolve, reject) => {
        const id = ++lastId;
        waiting.set(id, { resolve, reject });
        child.send({ id, name, value } satisfies Question);
      }),
    stop: () => void child.kill('SIGKILL'),
  };
}
