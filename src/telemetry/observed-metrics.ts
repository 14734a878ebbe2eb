import { BATCH_BUCKETS, histogram, QUICK_BUCKETS } from './metric.ts';

export const observedMetrics = {
  admission: histogram('faregate_admission_duration_seconds', 'seconds', QUICK_BUCKETS, {
    help: 'Duration of an admission until its result or error, including its wait for a batch.',
  }),
  admissionBatch: histogram('faregate_admission_batch_duration_seconds', 'seconds', QUICK_BUCKETS, {
    help: 'Duration of the transaction of a batch of admissions.',
  }),
  admissionBatchCalls: histogram('faregate_admission_batch_calls', 'calls', BATCH_BUCKETS, {
    help: 'Number of calls that were admitted in one transaction.',
  }),
  settlement: histogram('faregate_settlement_duration_seconds', 'seconds', QUICK_BUCKETS, {
    labels: ['place'],
    help:
      'Time until the settlement of a call was durable, by the place of the settlement: the database, the journal, or nowhere. ' +
      'In the last case, the response of the call was withheld.',
  }),
  settlementBatch: histogram('faregate_settlement_batch_duration_seconds', 'seconds', QUICK_BUCKETS, {
    help: 'Duration of the transaction of a batch of settlements.',
  }),
  settlementBatchCalls: histogram('faregate_settlement_batch_calls', 'calls', BATCH_BUCKETS, {
    help: 'Number of calls that were settled in one transaction.',
  }),
};
