import { type NodeMetric, ofNode } from './node-figures.ts';

/** The process, its requests and what they take. */
export const servingMetrics: readonly NodeMetric[] = [
  {
    name: 'faregate_build_info',
    ofWorkers: 'max',
    type: 'gauge',
    labels: ['version', 'node_version', 'engine'],
    unit: '',
    help: 'Always 1; the labels say what runs: the version of Faregate, that of Node, and the kind of database.',
    read: ({ build }) => [{ labels: [build.version, build.nodeVersion, build.engine], value: 1 }],
  },
  ofNode.highest('faregate_workers', 'processes', {
    help: 'Workers that the gateway is started with; 1 if it is one process.',
    value: ({ workers }) => workers,
  }),
  ofNode.sum('faregate_workers_reporting', 'processes', {
    help: 'Those of them whose figures are in this scrape. Of the others the counters are as they said them last, and gauges are missing.',
    value: () => 1,
  }),
  ofNode.lowest('faregate_ready', '', {
    help: 'Whether the node takes calls, as /readyz says: 1 or 0.',
    value: ({ isReady }) => isReady,
  }),
  ofNode.lowest('faregate_config_in_force', '', {
    help: 'Whether the configuration file, as it was read last, is in force: 0 if it is not valid.',
    value: ({ reload }) => reload.isInForce,
  }),
  ofNode.lowest('faregate_config_last_reload_timestamp_seconds', 'seconds', {
    help: 'When the configuration in force was taken over, in Unix seconds.',
    value: ({ reload }) => reload.lastAtMs / 1_000,
  }),
  ofNode.sum('faregate_requests_in_flight', 'requests', {
    help: 'Requests at the public addresses that are under way, calls whose clients have left included.',
    value: ({ requestsInFlight }) => requestsInFlight,
  }),
  ofNode.sum('faregate_connections_open', 'connections', {
    help: 'Connections of clients.',
    value: ({ connections }) => connections.open,
  }),
  ofNode.highest('faregate_connections_max', 'connections', {
    help: 'The most of them, by server.connections.',
    value: ({ connections }) => connections.max,
  }),
  ofNode.sum('faregate_refusals_delayed', 'requests', {
    help: 'Refused requests that wait, because their account or address is refused too often.',
    value: ({ refusalsDelayed }) => refusalsDelayed,
  }),
  {
    name: 'faregate_request_bodies_read',
    ofWorkers: 'sum',
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
  ofNode.sum('faregate_body_memory_used_bytes', 'bytes', {
    help: 'Memory that the bodies of requests, stored responses and unsent responses take.',
    value: ({ bodies }) => bodies.used.memoryBytes,
  }),
  ofNode.sum('faregate_body_memory_max_bytes', 'bytes', {
    help: 'The most that they may take: server.bodyMemory.',
    value: ({ bodies }) => bodies.max.memoryBytes,
  }),
  ofNode.sum('faregate_upload_disk_used_bytes', 'bytes', {
    help: 'Disk that uploads take.',
    value: ({ bodies }) => bodies.used.diskBytes,
  }),
  ofNode.sum('faregate_upload_disk_max_bytes', 'bytes', {
    help: 'The most that they may take: server.uploadDisk.',
    value: ({ bodies }) => bodies.max.diskBytes,
  }),
  ofNode.highest('faregate_event_loop_delay_p50_seconds', 'seconds', {
    help: 'By how much the event loop is late, the median of the last one or two minutes.',
    value: ({ eventLoop }) => eventLoop.p50Ms / 1_000,
  }),
  ofNode.highest('faregate_event_loop_delay_p99_seconds', 'seconds', {
    help: 'The 99th percentile of the same.',
    value: ({ eventLoop }) => eventLoop.p99Ms / 1_000,
  }),
  ofNode.highest('faregate_event_loop_delay_max_seconds', 'seconds', {
    help: 'The longest of the same.',
    value: ({ eventLoop }) => eventLoop.maxMs / 1_000,
  }),
];
