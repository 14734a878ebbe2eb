import { metricsOf } from './metric.ts';
import { type NodeFigures, type NodeMetric, ofNode } from './node-figures.ts';

const ofLane = metricsOf(({ database }: NodeFigures) => database.lanes, { lane: ({ name }) => name });
const ofPartition = metricsOf(({ database }: NodeFigures) => database.partitions, {
  partition: ({ number }) => String(number),
});

/** The database and the connections to it. */
export const databaseMetrics: readonly NodeMetric[] = [
  ofNode.lowest('faregate_database_up', '', {
    help: 'Whether the database has responded to the question of this scrape within a second: 1 or 0.',
    value: (node) => node.database.isUp,
  }),
  ofNode.highest('faregate_database_silent', '', {
    help: 'Whether the last question of a call ran out of time, so that calls fail at once: 1 or 0. Of several partitions, whether one does.',
    value: (node) => node.database.isSilent,
  }),
  ofNode.lowest('faregate_database_partitions', 'partitions', {
    help: 'Partitions of the database that the node serves.',
    value: (node) => node.database.partitions.length,
  }),
  ofNode.highest('faregate_database_partitions_unopened', 'partitions', {
    help: 'Partitions that were added since the node started, as far as it has noticed: it has to be restarted.',
    value: (node) => node.database.partitionsUnopened,
  }),
  ofPartition.highest('faregate_database_partition_silent', '', {
    help: 'As faregate_database_silent, of the calls of the accounts of each partition: 1 or 0.',
    value: ({ isSilent }) => isSilent,
  }),
  ofNode.lowest('faregate_notifications_connected', '', {
    help: 'Whether notifications of the database reach this node: 1, or 0 if it reads every key from the database.',
    value: (node) => node.database.isNotified,
  }),
  ofNode.highest('faregate_database_clock_ahead_seconds', 'seconds', {
    help: "How far the node's clock is ahead of the database's at least; negative: behind.",
    value: (node) => node.database.clockAheadMs / 1_000,
  }),
  ofLane.sum('faregate_database_connections_used', 'connections', {
    help: 'Connections to the database at work, by what they are for.',
    value: ({ used }) => used,
  }),
  ofLane.sum('faregate_database_connections_max', 'connections', {
    help: 'The most of them.',
    value: ({ connectionsMax }) => connectionsMax,
  }),
  ofLane.sum('faregate_database_waiting', 'statements', {
    help: 'Statements and transactions that wait for one of them.',
    value: ({ waiting }) => waiting,
  }),
  ofLane.counter('faregate_database_statements_total', 'statements', {
    help: 'Statements and transactions that got one of them.',
    value: ({ begun }) => begun,
  }),
  ofLane.counter('faregate_database_wait_seconds_total', 'seconds', {
    help: 'How long they all waited for it.',
    value: ({ waitedMs }) => waitedMs / 1_000,
  }),
  ofLane.counter('faregate_database_refused_total', 'statements', {
    help: 'Work that was refused because too much of its kind was waiting.',
    value: ({ refused }) => refused,
  }),
];
