import { statfsSync } from 'node:fs';
import type { Logger } from '../lib/logger.ts';

/** The types that Linux reports in `statfs`, of file systems that other machines may reach, or that another program makes. */
const NETWORK_TYPES: ReadonlyMap<number, string> = new Map([
  [0x6969, 'NFS'],
  [0x517b, 'SMB'],
  [0xff534d42, 'CIFS'],
  [0xfe534d42, 'SMB2'],
  [0x65735546, 'FUSE'],
  [0x01021997, '9p'],
  [0x00c36400, 'Ceph'],
  [0x5346414f, 'AFS'],
  [0x0bd00bd0, 'Lustre'],
  [0x47504653, 'GPFS'],
  [0x01161970, 'GFS2'],
  [0x7461636f, 'OCFS2'],
  [0x786f4256, 'a shared folder of VirtualBox'],
]);

/** The name of the network's file system that a directory is on; `null` if it is on none that is known. */
export function networkFileSystem(
  directory: string,
  typeOf: (directory: string) => number = (path) => statfsSync(path).type,
): string | null {
  // Elsewhere the numbers mean something else.
  if (process.platform !== 'linux') return null;
  return NETWORK_TYPES.get(typeOf(directory) >>> 0) ?? null;
}

/**
 * Warns where the data directory is on a file system of the network. Whether its locks reach other machines, and whether a
 * sync waits for a disk, depends on how it is set up; neither can be found out from here.
 */
export function warnOfNetworkFileSystem(dataDir: string, logger: Logger, typeOf?: (directory: string) => number): void {
  const fileSystem = networkFileSystem(dataDir, typeOf);
  if (fileSystem !== null)
    logger.warn({ dataDir, fileSystem }, `the data directory is on ${fileSystem}: ${NETWORK_RISK}`);
}

export const NETWORK_RISK =
  'the lock that keeps a second gateway out may not hold between machines, and what is acknowledged may not survive a power ' +
  'cut; use a local disk, or PostgreSQL with DATABASE_URL';
