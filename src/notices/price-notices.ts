import { createHash } from 'node:crypto';
import { sentenceOf } from '../config/difference-text.ts';
import type { EndedRead } from '../config/price-source/price-source.ts';
import type { DueNotice } from './notice.ts';

/** An outage of the source causes one notice a day. */
const QUIET_MS = 86_400_000;

const CHANGES_MAX = 20;

/** The notice to operators about a read of the price source; `null`: nothing is new. */
export function noticeOfRead({
  outcome,
  message,
  revision,
  isNew,
  changes,
  read,
  source,
}: EndedRead): DueNotice | null {
  const notice = { accountId: null, subject: source };
  if (outcome === 'failed') {
    const dedupeKey = `prices.failed ${read.startedAtMs}`;
    return { ...notice, kind: 'prices.failed', dedupeKey, quietMs: QUIET_MS, data: { source, reason: message } };
  }
  if (!isNew || outcome === 'unchanged') return null;
  const sentences = changes.map(sentenceOf);
  // With the catalog in a file, each read finds the same differences until somebody changes the file.
  const id = revision?.number ?? createHash('sha256').update(sentences.join('\n')).digest('base64url');
  return {
    ...notice,
    kind: 'prices.changed',
    dedupeKey: `prices.changed ${id}`,
    quietMs: 0,
    data: {
      source,
      state: outcome === 'draft' ? 'draft' : outcome === 'applied' ? 'in_force' : 'not_applied',
      revision: revision?.number ?? null,
      changeCount: changes.length,
      changes: sentences.slice(0, CHANGES_MAX).join('\n'),
    },
  };
}
