import { makePartitions, migrateAll } from '../db/partitions.ts';
import type { GatewayOptions } from './gateway-options.ts';

/**
 * Brings all partitions of a database to the version of this program, and makes those that the configuration wants beyond. What others make at the
 * same time is opened, too.
 *
 * @throws SchemaError if one is not as it must be, or cannot be made.
 */
export async function openPartitions({ config, databases, logger, stopped }: GatewayOptions): Promise<void> {
  const waits = { onWaiting: (message: string): void => logger.warn({}, message), stopped };
  await migrateAll(databases, waits);
  const wanted = config.database.partitions;
  const made = await makePartitions(databases, wanted, waits);
  if (made.length > 0) logger.info({ partitions: made }, 'partitions were made, for new accounts');
  const { length } = databases.partitions;
  if (wanted < length) {
    logger.info(
      { configured: wanted, partitions: length },
      'the database has more partitions than database.partitions says; all of them are served, and none can be removed',
    );
  }
}
