import type { Tenant } from '../lib/fair/shares.ts';
import type { Soon } from '../lib/soon.ts';

/** Memory for a body that the gateway writes for a route. It counts in the memory of bodies until it is released. */
export interface BodyMemory {
  /** Changes its size. @throws GatewayError `overloaded` if there is not enough */
  need(sizeBytes: number): void;
  /** May be called repeatedly. */
  release(): void;
}

export type MemoryOf = (tenant: Tenant) => BodyMemory;

type Written = Pick<BodyMemory, 'release'>;

/** Makes a body, and releases its memory if that fails. */
export function releasedOnFailure<Made>(memory: Written, make: () => Soon<Made>): Soon<Made> {
  const fail = (error: unknown): never => {
    memory.release();
    throw error;
  };
  try {
    const made = make();
    return made instanceof Promise ? made.catch(fail) : made;
  } catch (error) {
    return fail(error);
  }
}

/** Bodies that were written for routes of a call. */
interface WrittenBodies {
  readonly firstTranslation: Written | null;
  readonly translation: Written | null;
  readonly firstRewriting: Written | null;
  readonly rewriting: Written | null;
}

export function releaseBodies({ firstTranslation, translation, firstRewriting, rewriting }: WrittenBodies): void {
  firstTranslation?.release();
  translation?.release();
  firstRewriting?.release();
  rewriting?.release();
}
