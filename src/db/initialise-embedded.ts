import { PGlite } from '@electric-sql/pglite';

/**
 * Creates the files of an embedded database in the directory named by the argument, and ends. It runs as a process of its
 * own because creating a database takes several hundred megabytes that a serving gateway would never give back.
 */
const database = await PGlite.create(process.argv[2]!);
await database.close();
