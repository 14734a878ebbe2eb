import { describePartitionStores } from '../db/partition-stores.ts';
import { createCitusDatabase, withPartitions } from './databases.ts';

/** Run by `npm run test:citus`, which passes the ports of its cluster. */
const ports = JSON.parse(process.env.FAREGATE_CITUS_PORTS!);
describePartitionStores(async () => withPartitions(await createCitusDatabase(ports), 2));
