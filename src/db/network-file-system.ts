import { statfsSync } from 'node:fs';
import type { Logger } from '../lib/logger.ts';

/** Types that `statfs` reports on Linux for network file systems, and for file systems that another program implements (FUSE). */
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
  [0x786f4256, 'a VirtualBox shared folder'],
]);

/** Returns the name of the network file system of a directory; `null` if it is on no known one. */
export function networkFileSystem(
  directory: string,
  typeOf: (directory: string) => number = (path) => statfsSync(path).type,
): string | null {
  // On other systems, the numbers have other meanings.
  if (process.platform !== 'linux') return null;
  return NETWORK_TYPES.get(typeOf(directory) >>> 0) ?? null;
}

/** Logs a warning for a network file system: locks may not work between machines, and syncs may not reach a disk. */
export function warnOfNetworkFileSystem(dataDir: string, logger: Logger, typeOf?: (directory: string) => number): void {
  const fileSystem = networkFileSystem(dataDir, typeOf);
  if (fileSystem !== null)
    logger.warn({ dataDir, fileSystem }, `the data directory is on ${fileSystem}: ${NETWORK_RISK}`);
}

export const NETWORK_RISK =
  'its lock might not exclude gateways on other machines, and acknowledged writes might not survive a power ' +
  'cut; use a local disk, or PostgreSQL with DATABASE_URL';
