import type { Databases } from '../db/databases.ts';
import type { PartitionDatabase, PartitionedDatabases } from '../db/home-lanes.ts';
import { makePartitions, migrateAll } from '../db/partitions.ts';
import type { GatewayOptions } from './gateway-options.ts';

/** What a gateway serves. */
export interface OpenedPartitions extends PartitionedDatabases {
  /** What all connections do. */
  readonly figures: Databases['figures'];
}

/**
 * Brings all partitions of a database to the version of this program, and makes those that the configuration wants beyond. What others make at the
 * same time is opened, too.
 *
 * @throws SchemaError if one is not as it must be, or cannot be made.
 */
export async function openPartitions({
  config,
  database,
  logger,
  stopped,
  ...given
}: GatewayOptions): Promise<OpenedPartitions> {
  // Nothing else knows that the directory and the first partition are one.
  const partitions: PartitionDatabase[] = [...(given.partitions ?? [database])];
  const open = given.openNext;
  const openNext =
    open &&
    ((schema: string): PartitionDatabase => {
      const next = open(schema);
      partitions.push(next);
      return next;
    });
  const waits = { onWaiting: (message: string): void => logger.warn({}, message), stopped };
  await migrateAll({ directory: database, partitions, ...(openNext && { openNext }) }, waits);
  const wanted = config.database.partitions;
  const made =
    openNext === undefined ? [] : await makePartitions({ directory: database, partitions, openNext }, wanted, waits);
  if (made.length > 0) logger.info({ partitions: made }, 'partitions were made, for new accounts');
  if (wanted < partitions.length) {
    logger.info(
      { configured: wanted, partitions: partitions.length },
      'the database has more partitions than database.partitions says; all of them are served, and none can be removed',
    );
  }
  return { directory: database, partitions, figures: given.figures ?? database.figures };
}
