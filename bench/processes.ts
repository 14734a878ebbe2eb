import { type ChildProcess, type StdioOptions, spawn, spawnSync } from 'node:child_process';
import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';

/** Whether processes of a bench can be kept apart. */
export const hasCores =
  process.platform === 'linux' && availableParallelism() > 1 && spawnSync('taskset', ['-V']).status === 0;

/**
 * Starts Node, the same one for all checkouts, on a core; the process can be sent messages. Its errors are shown, or go to the
 * file of `errors`.
 */
export function spawnOnCore(
  args: string[],
  core: number,
  environment: Record<string, string> = {},
  errors?: number,
): ChildProcess {
  const [command, commandArgs] = hasCores
    ? ['taskset', ['-c', String(core), process.execPath, ...args]]
    : [process.execPath, args];
  const stdio: StdioOptions = ['ignore', 'pipe', errors ?? 'inherit', 'ipc'];
  return spawn(command as string, commandArgs as string[], {
    env: { PATH: process.env.PATH, HOME: process.env.HOME, ...environment },
    stdio,
  });
}

/** The next message of a process. */
export function nextMessage<Message>(child: ChildProcess): Promise<Message> {
  return new Promise((resolve, reject) => {
    const onExit = (): void => reject(new Error('a process of the bench ended early'));
    child.once('exit', onExit);
    child.once('message', (message) => {
      child.off('exit', onExit);
      resolve(message as Message);
    });
  });
}

/** The path of a file of the bench. */
export function benchFile(name: string): string {
  return fileURLToPath(new URL(name, import.meta.url));
}
