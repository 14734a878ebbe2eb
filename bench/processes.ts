import { type ChildProcess, type StdioOptions, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';

/** Whether processes of a bench can be kept apart. */
export const hasCores =
  process.platform === 'linux' && availableParallelism() > 1 && spawnSync('taskset', ['-V']).status === 0;

/** The core of what is measured. */
export const TARGET_CORE = '0';
/** Those of all the rest: load, provider, database server. */
export const OTHER_CORES = availableParallelism() > 2 ? `1-${availableParallelism() - 1}` : '1';

/** For what is not kept apart. */
export const ALL_CORES = `0-${availableParallelism() - 1}`;

/** Starts a program of the bench on a core; it can be sent messages. Its errors are shown. */
export function spawnOnCore(args: string[], core: string, environment: Record<string, string> = {}): ChildProcess {
  return spawnPinned([process.execPath, ...args], core, environment, ['ignore', 'pipe', 'inherit', 'ipc']);
}

/** Starts a gateway on the core of the targets. Its errors are shown, or go to the file of `errors`. */
export function spawnGateway(args: string[], environment: Record<string, string>, errors?: number): ChildProcess {
  const stdio: StdioOptions = ['ignore', 'pipe', errors ?? 'inherit'];
  return spawnPinned([process.execPath, ...args], TARGET_CORE, environment, stdio);
}

/** Starts a gateway that shares the cores with all else. Its errors are shown. */
export function spawnFreeGateway(args: string[], environment: Record<string, string>): ChildProcess {
  return spawnPinned([process.execPath, ...args], ALL_CORES, environment, ['ignore', 'pipe', 'inherit']);
}

/** Starts any program on a core. */
export function spawnPinned(
  command: readonly string[],
  cores: string,
  environment: Record<string, string>,
  stdio: StdioOptions,
): ChildProcess {
  const [program, ...args] = hasCores ? ['taskset', '-c', cores, ...command] : command;
  return spawn(program!, args, { env: { PATH: process.env.PATH, HOME: process.env.HOME, ...environment }, stdio });
}

/** Moves this process, and with it what it starts from now on, to the cores that are not measured. */
export function pinSelf(): void {
  if (hasCores) spawnSync('taskset', ['-a', '-c', '-p', OTHER_CORES, String(process.pid)]);
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

/** Ends a process that does so when its parent is gone. */
export async function endByDisconnect(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, 'exit');
  child.disconnect();
  await ended;
}

/** The path of a file of the bench. */
export function benchFile(name: string): string {
  return fileURLToPath(new URL(name, import.meta.url));
}
