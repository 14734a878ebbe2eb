import { gatewayEngines } from '../support/database.ts';
import { createPartitioned } from '../support/partitioned.ts';
import { describePartitionStores } from './partition-stores.ts';

for (const engine of gatewayEngines) describePartitionStores(engine, () => createPartitioned(engine, 2));
