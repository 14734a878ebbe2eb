/** Settings for the command line. They override all configuration files, so they also apply to the cluster of an older gateway. */
const SETTINGS: Readonly<Record<string, string>> = {
  // The server listens only on a socket in the cluster's directory, which only its user can enter.
  listen_addresses: '',
  unix_socket_permissions: '0700',
  // Confirmed writes are on disk, whatever the cluster's configuration files say.
  fsync: 'on',
  full_page_writes: 'on',
  synchronous_commit: 'on',
  // Enough for a gateway with four workers and several partitions.
  max_connections: '200',
  // Enough for balances, keys and open reservations. The operating system caches the rest.
  shared_buffers: '64MB',
  // Huge pages would reserve memory that other programs cannot use.
  huge_pages: 'off',
  // Uses files in the cluster: /dev/shm may be missing or tiny in containers, and systemd's RemoveIPC empties it when a user logs out.
  dynamic_shared_memory_type: 'mmap',
  // Reserves main memory for shared data, such as statistics. PostgreSQL uses those files only if this memory is full.
  min_dynamic_shared_memory: '4MB',
  // Without worker processes for parallel queries or replication.
  max_worker_processes: '0',
  max_parallel_workers_per_gather: '0',
  max_parallel_maintenance_workers: '0',
  max_logical_replication_workers: '0',
  // Keeps the WAL small. It is only needed for recovery.
  wal_level: 'minimal',
  max_wal_senders: '0',
  max_wal_size: '256MB',
  autovacuum_max_workers: '2',
  // For these queries, compilation takes longer than execution.
  jit: 'off',
  timezone: 'UTC',
  log_timezone: 'UTC',
  // English messages, because `server-log.ts` parses them.
  lc_messages: 'C',
  log_destination: 'stderr',
  logging_collector: 'off',
  log_line_prefix: '%m [%p] (%b) ',
  log_min_messages: 'warning',
  log_checkpoints: 'off',
  // Never log statements, values, or details such as "Key (email)=(…) already exists".
  log_statement: 'none',
  log_min_error_statement: 'panic',
  log_error_verbosity: 'terse',
  log_parameter_max_length: '0',
  log_parameter_max_length_on_error: '0',
};

/** Settings of version 18. Connections do their own I/O, without I/O workers. */
const SETTINGS_OF_18: Readonly<Record<string, string>> = { io_method: 'sync' };

export function settingArguments(
  major: number,
  socketDir: string,
  changed: Readonly<Record<string, string>> = {},
): string[] {
  // The setting is a list, in which a name with a comma must be quoted.
  const directory = `"${socketDir.replaceAll('"', '""')}"`;
  const known = major >= 18 ? { ...SETTINGS, ...SETTINGS_OF_18 } : SETTINGS;
  const settings = { ...known, unix_socket_directories: directory, ...changed };
  return Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
}
