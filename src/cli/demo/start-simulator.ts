import { fork } from 'node:child_process';
import { moduleFile } from '../../lib/files/module-file.ts';

export interface Simulator {
  readonly url: string;
  stop(): void;
}

const SIMULATOR = moduleFile('./simulator', import.meta.url);

/** Starts the simulated provider in a process of its own, so that it takes neither memory nor CPU time from the gateway. */
export function startSimulator(): Promise<Simulator> {
  const child = fork(SIMULATOR, { stdio: ['ignore', 'ignore', 'inherit', 'ipc'] });
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', (code) => reject(new Error(`The simulated provider ended with exit code ${code}.`)));
    child.once('message', (message: { url: string }) => {
      child.removeAllListeners('exit');
      resolve({ url: message.url, stop: () => child.kill() });
    });
  });
}
