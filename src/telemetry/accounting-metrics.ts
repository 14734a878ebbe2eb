import { type NodeMetric, ofNode } from './node-figures.ts';

export const accountingMetrics: readonly NodeMetric[] = [
  ofNode.sum('faregate_reservations_open', 'calls', {
    help: 'Number of calls of this node that hold a reservation or are being admitted.',
    value: ({ reservations }) => reservations.open,
  }),
  ofNode.sum('faregate_reservations_doubtful', 'calls', {
    help: 'Number of failed admissions that may have left a reservation. The node tries to release these reservations.',
    value: ({ reservations }) => reservations.doubtful,
  }),
  ofNode.sum('faregate_admissions_waiting', 'calls', {
    help: 'Number of admissions that are waiting for a batch or are in one.',
    value: ({ reservations }) => reservations.waiting,
  }),
  ofNode.sum('faregate_admission_queue_calls', 'calls', {
    help: 'Number of calls that wait in admission queues because their plans are at the concurrency limit.',
    value: ({ callsQueued }) => callsQueued,
  }),
  ofNode.sum('faregate_settlements_waiting', 'calls', {
    help: 'Number of settlements that are waiting for a batch or are in one.',
    value: ({ settlements }) => settlements.waiting,
  }),
  ofNode.sum('faregate_settlements_unwritten', 'calls', {
    help: 'Number of settlements that are not in the database: those in the journal, and those that are only in the memory of this process.',
    value: ({ settlements }) => settlements.unwritten,
  }),
  ofNode.counter('faregate_calls_unresolved_total', 'calls', {
    help: 'Number of calls of dead nodes that this node has recorded as unresolved. They are not charged.',
    value: ({ callsUnresolved }) => callsUnresolved,
  }),
  ofNode.sum('faregate_journal_entries', 'calls', {
    help: 'Number of settlements in the journal.',
    value: ({ journal }) => journal.entries,
  }),
  ofNode.sum('faregate_journal_bytes', 'bytes', {
    help: 'Size of the journal files.',
    value: ({ journal }) => journal.fileBytes,
  }),
  ofNode.lowest('faregate_journal_writable', '', {
    help: 'Whether the journal is writable: 1 or 0. While the journal is not writable, the node takes no calls.',
    value: ({ journal }) => journal.isWritable,
  }),
  ofNode.sum('faregate_idempotency_claims_open', 'calls', {
    help: 'Number of idempotency keys whose call is running on this node, or that are being looked up.',
    value: ({ claims }) => claims,
  }),
  ofNode.highest('faregate_api_keys_cached', 'keys', {
    help: 'Number of API keys in the cache of this node.',
    value: ({ cachedKeys }) => cachedKeys,
  }),
];
