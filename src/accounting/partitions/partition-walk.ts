import { isLockTimeout } from '../../db/errors.ts';
import { PartitionError, type Routes, UnknownPartitionError } from './routes.ts';

/**
 * A walk over accounts of all partitions, in whichever order they come. A partition that fails is left alone for the rest of it, so that
 * one that does not respond takes its time once, and the others have their turn.
 */
export class PartitionWalk<Part> {
  readonly #routes: Routes<Part>;
  readonly #failed = new Set<Part>();
  #failure: unknown = null;

  constructor(routes: Routes<Part>) {
    this.#routes = routes;
  }

  /**
   * Works for an account in its partition; returns false if it is left for later, because that has failed.
   *
   * @throws where somebody else has a lock that is needed, and if the directory does not respond.
   */
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

  /** Whether nothing is left to be done: all partitions have failed. */
  get isOver(): boolean {
    return this.#failed.size === this.#routes.all.length;
  }

  /** Throws the first failure, if there was one. */
  throwFailure(): void {
    if (this.#failure !== null) throw this.#failure;
  }
}
