import { readFileSync } from 'node:fs';

const EVERY_MS = 100;

/** Watches the resident memory of a process while something is done to it. */
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

/** Zero if the process has ended, or where the system does not say. */
export function residentMiB(pid: number): number {
  try {
    const [, kilobytes = '0'] = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
    return Number(kilobytes) / 1024;
  } catch {
    return 0;
  }
}
