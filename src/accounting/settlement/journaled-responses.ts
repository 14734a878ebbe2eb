import type { EntryId, Journal } from '../../journal/journal.ts';
import { Shares } from '../../lib/fair/shares.ts';
import type { StoredResponseBudget } from '../repeats/stored-response-budget.ts';
import { withoutBody } from '../repeats/stored-responses.ts';
import { encodeRecord, type SettlementRecord } from './settlement-record.ts';

/** Maximum size of stored bodies in the journal: half of the size at which it refuses calls. So they alone cannot cause that. */
const BODIES_MAX_BYTES = 128 * 2 ** 20;

/** Maximum size of entries that are read together. A larger entry is read alone. */
const READ_BYTES_MAX = 8 * 2 ** 20;

/** Writes ends of calls to the journal: without their stored response if the account has no disk space left. Repeats then fail. */
export class JournaledResponses {
  readonly #journal: Journal;
  readonly #budget: Pick<StoredResponseBudget, 'takeDisk'>;
  readonly #bodies = new Shares(BODIES_MAX_BYTES);
  readonly #releases = new Map<EntryId, () => void>();

  constructor(journal: Journal, budget: Pick<StoredResponseBudget, 'takeDisk'>) {
    this.#journal = journal;
    this.#budget = budget;
  }

  /** @throws if the journal does not accept the entry */
  async append(record: SettlementRecord): Promise<EntryId> {
    const release = this.#takeDisk(record);
    const { kept } = record;
    const stored = release === null && kept !== null ? { ...record, kept: withoutBody(kept) } : record;
    try {
      const id = await this.#journal.append(encodeRecord(stored));
      if (release !== null) this.#releases.set(id, release);
      return id;
    } catch (error) {
      release?.();
      throw error;
    }
  }

  remove(id: EntryId): void {
    this.#journal.remove(id);
    this.#releases.get(id)?.();
    this.#releases.delete(id);
  }

  /** Returns how many entries at the start of `ids` may be read together; at least one. */
  readAtOnce(ids: readonly (EntryId | null)[]): number {
    let sizeBytes = 0;
    for (const [count, id] of ids.entries()) {
      sizeBytes += id === null ? 0 : this.#journal.sizeBytes(id);
      if (count > 0 && sizeBytes > READ_BYTES_MAX) return count;
    }
    return ids.length;
  }

  /** Reserves disk space for the body of a stored response; `null`: there is none left. */
  #takeDisk({ kept }: SettlementRecord): (() => void) | null {
    if (kept === null || kept.body === null) return () => undefined;
    const tenant = { accountId: kept.accountId, isOnlyAccount: false };
    // Size of the body in the journal, as base64.
    const sizeBytes = Math.ceil((kept.body.length * 4) / 3);
    const share = this.#bodies.take(tenant, sizeBytes);
    if (share === null) return null;
    const disk = this.#budget.takeDisk(tenant, sizeBytes);
    if (disk === null) {
      share.release();
      return null;
    }
    return () => {
      share.release();
      disk.release();
    };
  }
}
