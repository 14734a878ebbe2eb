import { readFileSync } from 'node:fs';

const EVERY_MS = 100;

/** Watches the resident memory of a process, and of its workers, while something is done to it. */
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

  /** Its peak. */
  stop(): number {
    clearInterval(this.#timer);
    this.#look();
    return this.#peakMiB;
  }
}

/** With its child processes. Zero if it has ended, or where the system does not say. */
export function residentMiB(pid: number): number {
  return [pid, ...childrenOf(pid)].reduce((sum, each) => sum + residentMiBOf(each), 0);
}

/** The processes that a process has started and that run. */
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
