import { BATCH_BUCKETS, type HistogramRow, QUICK_BUCKETS } from './metric.ts';

/** Admissions and ends of calls, as they happen. */
export const observedMetrics = {
  admission: {
    type: 'histogram',
    name: 'faregate_admission_duration_seconds',
    labels: [],
    unit: 'seconds',
    buckets: QUICK_BUCKETS,
    help: 'How long an admission took, from its question to its verdict or error, its wait for a batch included.',
  },
  admissionBatch: {
    type: 'histogram',
    name: 'faregate_admission_batch_duration_seconds',
    labels: [],
    unit: 'seconds',
    buckets: QUICK_BUCKETS,
    help: 'How long the transaction of a batch of admissions took.',
  },
  admissionBatchCalls: {
    type: 'histogram',
    name: 'faregate_admission_batch_calls',
    labels: [],
    unit: 'calls',
    buckets: BATCH_BUCKETS,
    help: 'How many calls were admitted in one transaction.',
  },
  settlement: {
    type: 'histogram',
    name: 'faregate_settlement_duration_seconds',
    labels: ['place'],
    unit: 'seconds',
    buckets: QUICK_BUCKETS,
    help:
      'How long it took until the end of a call was durable, by where it was first: in the database, in the journal, or ' +
      'nowhere, if its response was withheld.',
  },
  settlementBatch: {
    type: 'histogram',
    name: 'faregate_settlement_batch_duration_seconds',
    labels: [],
    unit: 'seconds',
    buckets: QUICK_BUCKETS,
    help: 'How long the transaction of a batch of ends took.',
  },
  settlementBatchCalls: {
    type: 'histogram',
    name: 'faregate_settlement_batch_calls',
    labels: [],
    unit: 'calls',
    buckets: BATCH_BUCKETS,
    help: 'How many calls were ended in one transaction.',
  },
} as const satisfies Readonly<Record<string, HistogramRow>>;
