import { type NodeMetric, ofNode } from './node-figures.ts';

/** Reservations and the ends of calls. */
export const accountingMetrics: readonly NodeMetric[] = [
  ofNode.sum('faregate_reservations_open', 'calls', {
    help: 'Calls of this node that have a reservation, or are about to have one.',
    value: ({ reservations }) => reservations.open,
  }),
  ofNode.sum('faregate_reservations_doubtful', 'calls', {
    help: 'Failed admissions of which it is not known whether they reserved anything; they are released again and again.',
    value: ({ reservations }) => reservations.doubtful,
  }),
  ofNode.sum('faregate_admissions_waiting', 'calls', {
    help: 'Admissions that wait for a batch, or are in one.',
    value: ({ reservations }) => reservations.waiting,
  }),
  ofNode.sum('faregate_admission_queue_calls', 'calls', {
    help: 'Calls in the admission queues, at the concurrency limits of their plans.',
    value: ({ callsQueued }) => callsQueued,
  }),
  ofNode.sum('faregate_settlements_waiting', 'calls', {
    help: 'Ends of calls that wait for a batch, or are in one.',
    value: ({ settlements }) => settlements.waiting,
  }),
  ofNode.sum('faregate_settlements_unwritten', 'calls', {
    help: 'Ends of calls that the database has not taken: those in the journal, and those that this process alone knows.',
    value: ({ settlements }) => settlements.unwritten,
  }),
  ofNode.counter('faregate_calls_unresolved_total', 'calls', {
    help: 'Calls of dead nodes that this node has recorded as unresolved; nothing is charged for them.',
    value: ({ callsUnresolved }) => callsUnresolved,
  }),
  ofNode.sum('faregate_journal_entries', 'calls', {
    help: 'Ends of calls in the journal.',
    value: ({ journal }) => journal.entries,
  }),
  ofNode.sum('faregate_journal_bytes', 'bytes', {
    help: 'What the files of the journal take.',
    value: ({ journal }) => journal.fileBytes,
  }),
  ofNode.lowest('faregate_journal_writable', '', {
    help: 'Whether the journal takes entries: 1, or 0 if the node takes no calls.',
    value: ({ journal }) => journal.isWritable,
  }),
  ofNode.sum('faregate_idempotency_claims_open', 'calls', {
    help: 'Idempotency keys whose call runs on this node, or that are being looked up.',
    value: ({ claims }) => claims,
  }),
  ofNode.highest('faregate_api_keys_cached', 'keys', {
    help: 'API keys that this node knows without asking the database.',
    value: ({ cachedKeys }) => cachedKeys,
  }),
];
