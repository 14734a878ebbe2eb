import { gauge } from './metric.ts';
import type { NodeMetric } from './node-figures.ts';

/** Reservations and the ends of calls. */
export const accountingMetrics: readonly NodeMetric[] = [
  gauge({
    name: 'faregate_reservations_open',
    ofWorkers: 'sum',
    unit: 'calls',
    help: 'Calls of this node that have a reservation, or are about to have one.',
    value: ({ reservations }) => reservations.open,
  }),
  gauge({
    name: 'faregate_reservations_doubtful',
    ofWorkers: 'sum',
    unit: 'calls',
    help: 'Failed admissions of which it is not known whether they reserved anything; they are released again and again.',
    value: ({ reservations }) => reservations.doubtful,
  }),
  gauge({
    name: 'faregate_admissions_waiting',
    ofWorkers: 'sum',
    unit: 'calls',
    help: 'Admissions that wait for a batch, or are in one.',
    value: ({ reservations }) => reservations.waiting,
  }),
  gauge({
    name: 'faregate_admission_queue_calls',
    ofWorkers: 'sum',
    unit: 'calls',
    help: 'Calls in the admission queues, at the concurrency limits of their plans.',
    value: ({ callsQueued }) => callsQueued,
  }),
  gauge({
    name: 'faregate_settlements_waiting',
    ofWorkers: 'sum',
    unit: 'calls',
    help: 'Ends of calls that wait for a batch, or are in one.',
    value: ({ settlements }) => settlements.waiting,
  }),
  gauge({
    name: 'faregate_settlements_unwritten',
    ofWorkers: 'sum',
    unit: 'calls',
    help: 'Ends of calls that the database has not taken: those in the journal, and those that this process alone knows.',
    value: ({ settlements }) => settlements.unwritten,
  }),
  {
    name: 'faregate_calls_unresolved_total',
    type: 'counter',
    labels: [],
    unit: 'calls',
    help: 'Calls of dead nodes that this node has recorded as unresolved; nothing is charged for them.',
    read: ({ callsUnresolved }) => [{ labels: [], value: callsUnresolved }],
  },
  gauge({
    name: 'faregate_journal_entries',
    ofWorkers: 'sum',
    unit: 'calls',
    help: 'Ends of calls in the journal.',
    value: ({ journal }) => journal.entries,
  }),
  gauge({
    name: 'faregate_journal_bytes',
    ofWorkers: 'sum',
    unit: 'bytes',
    help: 'What the files of the journal take.',
    value: ({ journal }) => journal.fileBytes,
  }),
  gauge({
    name: 'faregate_journal_writable',
    ofWorkers: 'min',
    unit: '',
    help: 'Whether the journal takes entries: 1, or 0 if the node takes no calls.',
    value: ({ journal }) => journal.isWritable,
  }),
  gauge({
    name: 'faregate_idempotency_claims_open',
    ofWorkers: 'sum',
    unit: 'calls',
    help: 'Idempotency keys whose call runs on this node, or that are being looked up.',
    value: ({ claims }) => claims,
  }),
  gauge({
    name: 'faregate_api_keys_cached',
    ofWorkers: 'max',
    unit: 'keys',
    help: 'API keys that this node knows without asking the database.',
    value: ({ cachedKeys }) => cachedKeys,
  }),
];
