import { type NodeMetric, ofNode } from './node-figures.ts';

export const servingMetrics: readonly NodeMetric[] = [
  {
    name: 'faregate_build_info',
    ofWorkers: 'max',
    type: 'gauge',
    labels: ['version', 'node_version', 'engine'],
    unit: '',
    help: 'Always 1. The labels contain the versions of Faregate and Node, and the database engine.',
    read: ({ build }) => [{ labels: [build.version, build.nodeVersion, build.engine], value: 1 }],
  },
  ofNode.highest('faregate_workers', 'processes', {
    help: 'Configured number of workers; 1 for a single process.',
    value: ({ workers }) => workers,
  }),
  ofNode.sum('faregate_workers_reporting', 'processes', {
    help: 'Number of workers that responded to this scrape. For other workers, counters have the last reported values, and gauges are missing.',
    value: () => 1,
  }),
  ofNode.lowest('faregate_ready', '', {
    help: 'Whether the node takes calls, as in /readyz: 1 or 0.',
    value: ({ isReady }) => isReady,
  }),
  ofNode.lowest('faregate_config_in_force', '', {
    help: 'Whether the last version of the configuration file that was read is in use: 1, or 0 if it is invalid.',
    value: ({ reload }) => reload.isInForce,
  }),
  ofNode.lowest('faregate_config_last_reload_timestamp_seconds', 'seconds', {
    help: 'Time at which the current configuration was loaded, in Unix seconds.',
    value: ({ reload }) => reload.lastAtMs / 1_000,
  }),
  {
    name: 'faregate_catalog_revision',
    ofWorkers: 'min',
    type: 'gauge',
    labels: ['state'],
    unit: '',
    help:
      'Number of the revision of the catalog that the node applies (in_force), applies next (scheduled), or cannot use (failed). ' +
      'No value: there is none, or the catalog is in the configuration file.',
    read: ({ catalog }) =>
      [
        { labels: ['in_force'], value: catalog.inForce },
        { labels: ['scheduled'], value: catalog.scheduled },
        { labels: ['failed'], value: catalog.failed },
      ].flatMap(({ labels, value }) => (value === null ? [] : [{ labels, value }])),
  },
  {
    name: 'faregate_price_source_reads_total',
    type: 'counter',
    labels: ['result'],
    unit: 'reads',
    help:
      'Number of reads of the price source by this node, by result: unchanged; draft (differences wait in a draft); applied (they are in force); changed (the ' +
      'catalog is in the file); failed.',
    read: ({ priceSourceReads }) =>
      Object.entries(priceSourceReads).map(([result, value]) => ({ labels: [result], value })),
  },
  ofNode.sum('faregate_requests_in_flight', 'requests', {
    help: 'Number of requests in flight at the public addresses, including calls whose clients have disconnected.',
    value: ({ requestsInFlight }) => requestsInFlight,
  }),
  ofNode.sum('faregate_connections_open', 'connections', {
    help: 'Number of open client connections.',
    value: ({ connections }) => connections.open,
  }),
  ofNode.highest('faregate_connections_max', 'connections', {
    help: 'Maximum number of client connections: server.connections.',
    value: ({ connections }) => connections.max,
  }),
  ofNode.sum('faregate_refusals_delayed', 'requests', {
    help: 'Number of error responses that are being delayed, because their account or client address causes too many of them.',
    value: ({ refusalsDelayed }) => refusalsDelayed,
  }),
  {
    name: 'faregate_request_bodies_read',
    ofWorkers: 'sum',
    type: 'gauge',
    labels: ['pool', 'state'],
    unit: 'bodies',
    help: 'Number of large request bodies that worker threads are parsing, or that are waiting for a thread.',
    read: ({ requestWorkers }) =>
      requestWorkers.flatMap(({ pool, running, waiting }) => [
        { labels: [pool, 'running'], value: running },
        { labels: [pool, 'waiting'], value: waiting },
      ]),
  },
  ofNode.sum('faregate_body_memory_used_bytes', 'bytes', {
    help: 'Memory in use by request bodies, stored responses and unsent responses.',
    value: ({ bodies }) => bodies.used.memoryBytes,
  }),
  ofNode.sum('faregate_body_memory_max_bytes', 'bytes', {
    help: 'Maximum memory for bodies: server.bodyMemory.',
    value: ({ bodies }) => bodies.max.memoryBytes,
  }),
  ofNode.sum('faregate_upload_disk_used_bytes', 'bytes', {
    help: 'Disk space in use by uploads.',
    value: ({ bodies }) => bodies.used.diskBytes,
  }),
  ofNode.sum('faregate_upload_disk_max_bytes', 'bytes', {
    help: 'Maximum disk space for uploads: server.uploadDisk.',
    value: ({ bodies }) => bodies.max.diskBytes,
  }),
  ofNode.highest('faregate_event_loop_delay_p50_seconds', 'seconds', {
    help: 'Median delay of the event loop in the last one to two minutes.',
    value: ({ eventLoop }) => eventLoop.p50Ms / 1_000,
  }),
  ofNode.highest('faregate_event_loop_delay_p99_seconds', 'seconds', {
    help: '99th percentile of the delay of the event loop in the last one to two minutes.',
    value: ({ eventLoop }) => eventLoop.p99Ms / 1_000,
  }),
  ofNode.highest('faregate_event_loop_delay_max_seconds', 'seconds', {
    help: 'Maximum delay of the event loop in the last one to two minutes.',
    value: ({ eventLoop }) => eventLoop.maxMs / 1_000,
  }),
];
