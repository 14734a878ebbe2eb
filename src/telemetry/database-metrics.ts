import { each, gauge, type MetricRow } from './metric.ts';
import type { LaneFigures, NodeMetric } from './node-figures.ts';

type LaneMetric = Omit<MetricRow, 'labels'> & { type: 'counter' | 'gauge'; value(lane: LaneFigures): number };

function byLane({ value, ...row }: LaneMetric): NodeMetric {
  return { ...row, labels: ['lane'], read: ({ database }) => each(database.lanes, ({ name }) => [name], value) };
}

/** The database and the connections to it. */
export const databaseMetrics: readonly NodeMetric[] = [
  gauge({
    name: 'faregate_database_up',
    ofWorkers: 'min',
    unit: '',
    help: 'Whether the database has responded to the question of this scrape within a second: 1 or 0.',
    value: (node) => node.database.isUp,
  }),
  gauge({
    name: 'faregate_database_silent',
    ofWorkers: 'max',
    unit: '',
    help: 'Whether the last question of a call ran out of time, so that calls fail at once: 1 or 0. Of several partitions, whether one does.',
    value: (node) => node.database.isSilent,
  }),
  gauge({
    name: 'faregate_database_partitions',
    ofWorkers: 'min',
    unit: 'partitions',
    help: 'Partitions of the database that the node serves.',
    value: (node) => node.database.partitions.length,
  }),
  gauge({
    name: 'faregate_database_partitions_unopened',
    ofWorkers: 'max',
    unit: 'partitions',
    help: 'Partitions that were added since the node started, as far as it has noticed: it has to be restarted.',
    value: (node) => node.database.partitionsUnopened,
  }),
  {
    type: 'gauge',
    name: 'faregate_database_partition_silent',
    labels: ['partition'],
    ofWorkers: 'max',
    unit: '',
    help: 'As faregate_database_silent, of the calls of the accounts of each partition: 1 or 0.',
    read: ({ database }) =>
      each(
        database.partitions,
        ({ number }) => [String(number)],
        ({ isSilent }) => Number(isSilent),
      ),
  },
  gauge({
    name: 'faregate_notifications_connected',
    ofWorkers: 'min',
    unit: '',
    help: 'Whether notifications of the database reach this node: 1, or 0 if it reads every key from the database.',
    value: (node) => node.database.isNotified,
  }),
  gauge({
    name: 'faregate_database_clock_ahead_seconds',
    ofWorkers: 'max',
    unit: 'seconds',
    help: "How far the node's clock is ahead of the database's at least; negative: behind.",
    value: (node) => node.database.clockAheadMs / 1_000,
  }),
  byLane({
    type: 'gauge',
    name: 'faregate_database_connections_used',
    ofWorkers: 'sum',
    unit: 'connections',
    help: 'Connections to the database at work, by what they are for; the embedded database has one session.',
    value: ({ used }) => used,
  }),
  byLane({
    type: 'gauge',
    name: 'faregate_database_connections_max',
    ofWorkers: 'sum',
    unit: 'connections',
    help: 'The most of them.',
    value: ({ connectionsMax }) => connectionsMax,
  }),
  byLane({
    type: 'gauge',
    name: 'faregate_database_waiting',
    ofWorkers: 'sum',
    unit: 'statements',
    help: 'Statements and transactions that wait for one of them.',
    value: ({ waiting }) => waiting,
  }),
  byLane({
    type: 'counter',
    name: 'faregate_database_statements_total',
    unit: 'statements',
    help: 'Statements and transactions that got one of them.',
    value: ({ begun }) => begun,
  }),
  byLane({
    type: 'counter',
    name: 'faregate_database_wait_seconds_total',
    unit: 'seconds',
    help: 'How long they all waited for it.',
    value: ({ waitedMs }) => waitedMs / 1_000,
  }),
  byLane({
    type: 'counter',
    name: 'faregate_database_refused_total',
    unit: 'statements',
    help: 'Work that was refused because too much of its kind was waiting.',
    value: ({ refused }) => refused,
  }),
];
