import { metricsOf } from './metric.ts';
import { type NodeFigures, type NodeMetric, ofNode } from './node-figures.ts';

const ofPool = metricsOf(({ database }: NodeFigures) => database.pools, { lane: ({ name }) => name });
const ofPartition = metricsOf(({ database }: NodeFigures) => database.partitions, {
  partition: ({ number }) => String(number),
});

export const databaseMetrics: readonly NodeMetric[] = [
  ofNode.lowest('faregate_database_up', '', {
    help: 'Whether the database responded within a second of this scrape: 1 or 0.',
    value: (node) => node.database.isUp,
  }),
  ofNode.highest('faregate_database_silent', '', {
    help: 'Whether the last query that a call made timed out: 1 or 0. While it is 1, calls fail at once. With several partitions: 1 if it is 1 for any of them.',
    value: (node) => node.database.isSilent,
  }),
  ofNode.lowest('faregate_database_partitions', 'partitions', {
    help: 'Number of partitions that the node serves.',
    value: (node) => node.database.partitions.length,
  }),
  ofNode.highest('faregate_database_partitions_unopened', 'partitions', {
    help: 'Number of partitions that were added since the node started. The node serves them after a restart.',
    value: (node) => node.database.partitionsUnopened,
  }),
  ofPartition.highest('faregate_database_partition_silent', '', {
    help: 'Whether the last query that a call made to the partition timed out: 1 or 0. While it is 1, calls of its accounts fail at once.',
    value: ({ isSilent }) => isSilent,
  }),
  ofNode.lowest('faregate_notifications_connected', '', {
    help: 'Whether the node receives notifications from the database: 1 or 0. Without notifications, the node reads every key from the database.',
    value: (node) => node.database.isNotified,
  }),
  ofNode.highest('faregate_database_clock_ahead_seconds', 'seconds', {
    help: "Smallest possible difference between the clocks of node and database; positive if the node's clock is ahead.",
    value: (node) => node.database.clockAheadMs / 1_000,
  }),
  ofPool.sum('faregate_database_connections_used', 'connections', {
    help: 'Number of database connections in use, by pool.',
    value: ({ used }) => used,
  }),
  ofPool.sum('faregate_database_connections_max', 'connections', {
    help: 'Maximum number of database connections, by pool.',
    value: ({ connectionsMax }) => connectionsMax,
  }),
  ofPool.sum('faregate_database_waiting', 'statements', {
    help: 'Number of statements and transactions that are waiting for a connection.',
    value: ({ waiting }) => waiting,
  }),
  ofPool.counter('faregate_database_statements_total', 'statements', {
    help: 'Number of statements and transactions that got a connection.',
    value: ({ begun }) => begun,
  }),
  ofPool.counter('faregate_database_wait_seconds_total', 'seconds', {
    help: 'Total time that statements and transactions waited for a connection.',
    value: ({ waitedMs }) => waitedMs / 1_000,
  }),
  ofPool.counter('faregate_database_refused_total', 'statements', {
    help: 'Number of statements and transactions that were refused because the queue of the pool was full.',
    value: ({ refused }) => refused,
  }),
];
