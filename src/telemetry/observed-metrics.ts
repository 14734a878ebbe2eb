import { BATCH_BUCKETS, histogram, QUICK_BUCKETS } from './metric.ts';

/** Admissions and ends of calls, as they happen. */
export const observedMetrics = {
  admission: histogram('faregate_admission_duration_seconds', 'seconds', QUICK_BUCKETS, {
    help: 'How long an admission took, from its question to its verdict or error, its wait for a batch included.',
  }),
  admissionBatch: histogram('faregate_admission_batch_duration_seconds', 'seconds', QUICK_BUCKETS, {
    help: 'How long the transaction of a batch of admissions took.',
  }),
  admissionBatchCalls: histogram('faregate_admission_batch_calls', 'calls', BATCH_BUCKETS, {
    help: 'How many calls were admitted in one transaction.',
  }),
  settlement: histogram('faregate_settlement_duration_seconds', 'seconds', QUICK_BUCKETS, {
    labels: ['place'],
    help:
      'How long it took until the end of a call was durable, by where it was first: in the database, in the journal, or ' +
      'nowhere, if its response was withheld.',
  }),
  settlementBatch: histogram('faregate_settlement_batch_duration_seconds', 'seconds', QUICK_BUCKETS, {
    help: 'How long the transaction of a batch of ends took.',
  }),
  settlementBatchCalls: histogram('faregate_settlement_batch_calls', 'calls', BATCH_BUCKETS, {
    help: 'How many calls were ended in one transaction.',
  }),
};
