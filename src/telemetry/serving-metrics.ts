import { gauge } from './metric.ts';
import type { NodeMetric } from './node-figures.ts';

/** The process, its requests and what they take. */
export const servingMetrics: readonly NodeMetric[] = [
  {
    name: 'faregate_build_info',
    type: 'gauge',
    labels: ['version', 'node_version', 'engine'],
    unit: '',
    help: 'Always 1; the labels say what runs: the version of Faregate, that of Node, and the kind of database.',
    read: ({ build }) => [{ labels: [build.version, build.nodeVersion, build.engine], value: 1 }],
  },
  gauge({
    name: 'faregate_ready',
    unit: '',
    help: 'Whether the node takes calls, as /readyz says: 1 or 0.',
    value: ({ isReady }) => isReady,
  }),
  gauge({
    name: 'faregate_config_in_force',
    unit: '',
    help: 'Whether the configuration file, as it was read last, is in force: 0 if it is not valid.',
    value: ({ reload }) => reload.isInForce,
  }),
  gauge({
    name: 'faregate_config_last_reload_timestamp_seconds',
    unit: 'seconds',
    help: 'When the configuration in force was taken over, in Unix seconds.',
    value: ({ reload }) => reload.lastAtMs / 1_000,
  }),
  gauge({
    name: 'faregate_requests_in_flight',
    unit: 'requests',
    help: 'Requests at the public addresses that are under way, calls whose clients have left included.',
    value: ({ requestsInFlight }) => requestsInFlight,
  }),
  gauge({
    name: 'faregate_connections_open',
    unit: 'connections',
    help: 'Connections of clients.',
    value: ({ connections }) => connections.open,
  }),
  gauge({
    name: 'faregate_connections_max',
    unit: 'connections',
    help: 'The most of them, by server.connections.',
    value: ({ connections }) => connections.max,
  }),
  gauge({
    name: 'faregate_refusals_delayed',
    unit: 'requests',
    help: 'Refused requests that wait, because their account or address is refused too often.',
    value: ({ refusalsDelayed }) => refusalsDelayed,
  }),
  {
    name: 'faregate_request_bodies_read',
    type: 'gauge',
    labels: ['pool', 'state'],
    unit: 'bodies',
    help: 'Large request bodies at the threads that read them, running or waiting.',
    read: ({ requestWorkers }) =>
      requestWorkers.flatMap(({ pool, running, waiting }) => [
        { labels: [pool, 'running'], value: running },
        { labels: [pool, 'waiting'], value: waiting },
      ]),
  },
  gauge({
    name: 'faregate_body_memory_used_bytes',
    unit: 'bytes',
    help: 'Memory that the bodies of requests and stored responses take.',
    value: ({ bodies }) => bodies.used.memoryBytes,
  }),
  gauge({
    name: 'faregate_body_memory_max_bytes',
    unit: 'bytes',
    help: 'The most that they may take: server.bodyMemory.',
    value: ({ bodies }) => bodies.max.memoryBytes,
  }),
  gauge({
    name: 'faregate_upload_disk_used_bytes',
    unit: 'bytes',
    help: 'Disk that uploads take.',
    value: ({ bodies }) => bodies.used.diskBytes,
  }),
  gauge({
    name: 'faregate_upload_disk_max_bytes',
    unit: 'bytes',
    help: 'The most that they may take: server.uploadDisk.',
    value: ({ bodies }) => bodies.max.diskBytes,
  }),
  gauge({
    name: 'faregate_event_loop_delay_p50_seconds',
    unit: 'seconds',
    help: 'By how much the event loop is late, the median of the last one or two minutes.',
    value: ({ eventLoop }) => eventLoop.p50Ms / 1_000,
  }),
  gauge({
    name: 'faregate_event_loop_delay_p99_seconds',
    unit: 'seconds',
    help: 'The 99th percentile of the same.',
    value: ({ eventLoop }) => eventLoop.p99Ms / 1_000,
  }),
  gauge({
    name: 'faregate_event_loop_delay_max_seconds',
    unit: 'seconds',
    help: 'The longest of the same.',
    value: ({ eventLoop }) => eventLoop.maxMs / 1_000,
  }),
];
