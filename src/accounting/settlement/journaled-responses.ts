import type { EntryId, Journal } from '../../journal/journal.ts';
import { Shares } from '../../lib/fair/shares.ts';
import type { StoredResponseBudget } from '../repeats/stored-response-budget.ts';
import { withoutBody } from '../repeats/stored-responses.ts';
import { encodeRecord, type SettlementRecord } from './settlement-record.ts';

/** Half of the size at which the journal refuses calls, so that stored responses cannot cause this. */
const BODIES_MAX_BYTES = 128 * 2 ** 20;

/** A larger entry is read alone. */
const READ_BYTES_MAX = 8 * 2 ** 20;

/** If an account's share of the disk is used up, ends omit stored bodies: the calls are charged, and their repeats are refused. */
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

  /** Number of entries at the start of `ids` that may be read at once; at least one. */
  readAtOnce(ids: readonly (EntryId | null)[]): number {
    let sizeBytes = 0;
    for (const [count, id] of ids.entries()) {
      sizeBytes += id === null ? 0 : this.#journal.sizeBytes(id);
      if (count > 0 && sizeBytes > READ_BYTES_MAX) return count;
    }
    return ids.length;
  }

  /** Returns `null` if there is no disk space for the body of the stored response. */
  #takeDisk({ kept }: SettlementRecord): (() => void) | null {
    if (kept === null || kept.body === null) return () => undefined;
    const tenant = { accountId: kept.accountId, isOnlyAccount: false };
    // The size of the body as base64.
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
