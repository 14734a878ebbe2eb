import { readFileSync } from 'node:fs';

const EVERY_MS = 100;

/** Samples the resident memory of a process and its workers during an attack. */
export class MemoryWatch {
  readonly #pid: number;
  readonly #timer: NodeJS.Timeout;
  #peakMiB = 0;

  constructor(pid: number) {
    this.#pid = pid;
    this.#look();
    this.#timer = setInterval(() => this.#look(), EVERY_MS);
  }

  #look(): void {
    this.#peakMiB = Math.max(this.#peakMiB, residentMiB(this.#pid));
  }

  stop(): number {
    clearInterval(this.#timer);
    this.#look();
    return this.#peakMiB;
  }
}

/** Including child processes. 0 if the process has exited, or if the system does not report it. */
export function residentMiB(pid: number): number {
  return [pid, ...childrenOf(pid)].reduce((sum, each) => sum + residentMiBOf(each), 0);
}

/** The running children of a process. */
export function childrenOf(pid: number): number[] {
  try {
    const text = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8');
    return text.split(' ').filter(Boolean).map(Number);
  } catch {
    return [];
  }
}

function residentMiBOf(pid: number): number {
  try {
    const [, kilobytes = '0'] = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
    return Number(kilobytes) / 1024;
  } catch {
    return 0;
  }
}
