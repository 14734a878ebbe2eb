import { type ChildProcess, type StdioOptions, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';

/** Whether processes can be pinned to separate cores. */
export const hasCores =
  process.platform === 'linux' && availableParallelism() > 1 && spawnSync('taskset', ['-V']).status === 0;

/** The core of the target. */
export const TARGET_CORE = '0';
/** The cores of everything else: load, provider, database server. */
export const OTHER_CORES = availableParallelism() > 2 ? `1-${availableParallelism() - 1}` : '1';

/** For processes that are not pinned. */
export const ALL_CORES = `0-${availableParallelism() - 1}`;

/** Starts a program of the bench on a core, with a message channel. Shows its standard error. */
export function spawnOnCore(args: string[], core: string, environment: Record<string, string> = {}): ChildProcess {
  return spawnPinned([process.execPath, ...args], core, environment, ['ignore', 'pipe', 'inherit', 'ipc']);
}

/** Starts a gateway on the core of the targets. Its standard error is shown, or goes to the file `errors`. */
export function spawnGateway(args: string[], environment: Record<string, string>, errors?: number): ChildProcess {
  const stdio: StdioOptions = ['ignore', 'pipe', errors ?? 'inherit'];
  return spawnPinned([process.execPath, ...args], TARGET_CORE, environment, stdio);
}

/** Starts a gateway that shares the cores with everything else. Shows its standard error. */
export function spawnFreeGateway(args: string[], environment: Record<string, string>): ChildProcess {
  return spawnPinned([process.execPath, ...args], ALL_CORES, environment, ['ignore', 'pipe', 'inherit']);
}

export function spawnPinned(
  command: readonly string[],
  cores: string,
  environment: Record<string, string>,
  stdio: StdioOptions,
): ChildProcess {
  const [program, ...args] = hasCores ? ['taskset', '-c', cores, ...command] : command;
  return spawn(program!, args, { env: { PATH: process.env.PATH, HOME: process.env.HOME, ...environment }, stdio });
}

/** Moves this process and its future children to the cores without targets. */
export function pinSelf(): void {
  if (hasCores) spawnSync('taskset', ['-a', '-c', '-p', OTHER_CORES, String(process.pid)]);
}

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

/** Stops a process that exits when its parent disconnects. */
export async function endByDisconnect(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, 'exit');
  child.disconnect();
  await ended;
}

/** The path of a file in this directory. */
export function benchFile(name: string): string {
  return fileURLToPath(new URL(name, import.meta.url));
}
