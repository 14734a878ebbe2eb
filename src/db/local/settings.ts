/**
 * The settings of the local server, which is small and has one client. They are given on the command line, which wins over
 * every file of the cluster, so that a newer gateway has its own settings also on an older cluster.
 */
const SETTINGS: Readonly<Record<string, string>> = {
  // Only the socket, which is in the directory of the cluster: its user alone can enter it.
  listen_addresses: '',
  unix_socket_permissions: '0700',
  // What is acknowledged is on the disk, whatever a file of the cluster says.
  fsync: 'on',
  full_page_writes: 'on',
  synchronous_commit: 'on',
  // A gateway of four workers with several partitions stays below.
  max_connections: '200',
  // Balances, keys and open reservations fit; the system caches the files of the rest.
  shared_buffers: '64MB',
  // The memory that PostgreSQL reserves for large pages is not available to other programs of the machine.
  huge_pages: 'off',
  // In files of the cluster: /dev/shm may be missing or tiny in containers, and systemd empties it when a user logs out (RemoveIPC).
  dynamic_shared_memory_type: 'mmap',
  // Statistics are kept in this part of the main memory, so those files are rarely needed.
  min_dynamic_shared_memory: '4MB',
  // No worker processes for parallel queries or for replication.
  max_worker_processes: '0',
  max_parallel_workers_per_gather: '0',
  max_parallel_maintenance_workers: '0',
  max_logical_replication_workers: '0',
  // Nothing replicates: the log of changes serves recovery alone and stays small.
  wal_level: 'minimal',
  max_wal_senders: '0',
  max_wal_size: '256MB',
  autovacuum_max_workers: '2',
  // A query is shorter than its compilation.
  jit: 'off',
  timezone: 'UTC',
  log_timezone: 'UTC',
  // `server-log.ts` reads the log.
  lc_messages: 'C',
  log_destination: 'stderr',
  logging_collector: 'off',
  log_line_prefix: '%m [%p] (%b) ',
  log_min_messages: 'warning',
  log_checkpoints: 'off',
  // No statements, and no values: a detail such as "Key (email)=(…) already exists" is left out.
  log_statement: 'none',
  log_min_error_statement: 'panic',
  log_error_verbosity: 'terse',
  log_parameter_max_length: '0',
  log_parameter_max_length_on_error: '0',
};

/** Those of version 18 and later: the process of a connection reads by itself, not through workers. */
const SETTINGS_OF_18: Readonly<Record<string, string>> = { io_method: 'sync' };

/** The arguments of `postgres`. */
export function settingArguments(
  major: number,
  socketDir: string,
  changed: Readonly<Record<string, string>> = {},
): string[] {
  // A list, in which names with commas are quoted.
  const directory = `"${socketDir.replaceAll('"', '""')}"`;
  const known = major >= 18 ? { ...SETTINGS, ...SETTINGS_OF_18 } : SETTINGS;
  const settings = { ...known, unix_socket_directories: directory, ...changed };
  return Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
}
