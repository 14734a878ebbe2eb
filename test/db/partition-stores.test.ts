import { createPartitioned } from '../support/partitioned.ts';
import { describePartitionStores } from './partition-stores.ts';

describePartitionStores(() => createPartitioned(2));
