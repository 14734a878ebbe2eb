import { isLockTimeout } from '../../db/errors.ts';
import { PartitionError, type Routes, UnknownPartitionError } from './routes.ts';

/** A scan over accounts of all partitions. After its first failure, a partition is skipped, so that it costs only one timeout. */
export class PartitionScan<Part> {
  readonly #routes: Routes<Part>;
  readonly #failed = new Set<Part>();
  #failure: unknown = null;

  constructor(routes: Routes<Part>) {
    this.#routes = routes;
  }

  /** Returns false if the account's partition has failed. @throws a lock timeout (`isLockTimeout`), or if the directory does not respond */
  async visit(accountId: string, work: (part: Part) => Promise<unknown>): Promise<boolean> {
    const part = await this.#partOf(accountId);
    if (part === null || this.#failed.has(part)) return false;
    try {
      await work(part);
      return true;
    } catch (error) {
      if (isLockTimeout(error)) throw error;
      this.#failed.add(part);
      const { all } = this.#routes;
      this.#failure ??= all.length === 1 ? error : new PartitionError(all.indexOf(part), error);
      return false;
    }
  }

  async #partOf(accountId: string): Promise<Part | null> {
    try {
      return await this.#routes.of(accountId);
    } catch (error) {
      if (!(error instanceof UnknownPartitionError)) throw error;
      this.#failure ??= error;
      return null;
    }
  }

  get isOver(): boolean {
    return this.#failed.size === this.#routes.all.length;
  }

  throwFailure(): void {
    if (this.#failure !== null) throw this.#failure;
  }
}
