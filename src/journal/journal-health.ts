import type { Clock } from '../lib/clock.ts';
import type { Logger } from '../lib/logger.ts';
import type { Disk } from './disk.ts';

interface JournalHealthOptions {
  readonly disk: Disk;
  readonly directory: string;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly limits: () => Problem | null;
}

export interface Problem {
  readonly kind: 'fault' | 'space' | 'entries' | 'bytes';
  readonly text: string;
}

/** Free space below which new calls are refused: it is reserved for calls in flight. */
const FREE_BYTES_MIN = 8 * 1024 * 1024;
const CHECK_MS = 1000;

/**
 * Knows whether a journal is writable, and why not. After a failed write, it is not writable until a trial write succeeds. Free space is
 * checked in the background, at most every `CHECK_MS`, and only while calls arrive. Each change is logged once.
 */
export class JournalHealth {
  readonly #options: JournalHealthOptions;
  #fault: string | null = null;
  #space: string | null = null;
  #spaceCheckedMs = Number.NEGATIVE_INFINITY;
  #isCheckingSpace = false;
  #loggedKind: Problem['kind'] | null = null;

  constructor(options: JournalHealthOptions) {
    this.#options = options;
  }

  get isFaulty(): boolean {
    return this.#fault !== null;
  }

  get problem(): Problem | null {
    if (this.#fault !== null) return { kind: 'fault', text: this.#fault };
    if (this.#space !== null) return { kind: 'space', text: this.#space };
    return this.#options.limits();
  }

  fail(error: unknown): void {
    this.#fault = `the last write to ${this.#options.directory} failed: ${reasonOf(error)}`;
    this.log();
  }

  recovered(): void {
    this.#fault = null;
    this.log();
  }

  checkSpaceWhenDue(): void {
    const nowMs = this.#options.clock.nowMs();
    const agoMs = nowMs - this.#spaceCheckedMs;
    // A negative time means that the clock was set back. The free space is then checked, too.
    if (this.#isCheckingSpace || (agoMs >= 0 && agoMs < CHECK_MS)) return;
    void this.checkSpace();
  }

  /** Checks the free space. Never rejects. */
  async checkSpace(): Promise<void> {
    const { disk, directory, clock } = this.#options;
    this.#isCheckingSpace = true;
    this.#spaceCheckedMs = clock.nowMs();
    try {
      const freeBytes = await disk.freeBytes(directory);
      this.#space =
        freeBytes >= FREE_BYTES_MIN
          ? null
          : `the disk of ${directory} has ${freeBytes} bytes free, less than the ${FREE_BYTES_MIN} that are reserved for calls in flight`;
    } catch (error) {
      this.#space = `the free space of ${directory} cannot be read: ${reasonOf(error)}`;
    }
    this.#isCheckingSpace = false;
    this.log();
  }

  /** Logs the problem if it is of another kind than the one that was logged last. */
  log(): void {
    const problem = this.problem;
    const kind = problem?.kind ?? null;
    if (kind === this.#loggedKind) return;
    this.#loggedKind = kind;
    const { logger, directory } = this.#options;
    if (problem === null) logger.info({ directory }, 'the journal is writable again');
    else logger.warn({ directory, problem: problem.text }, 'the journal is not writable; new calls are refused');
  }
}

export function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
