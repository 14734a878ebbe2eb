import { createRequire } from 'node:module';
import type * as undici from 'undici';

/** Loads only those modules of undici that calls need. Its entry point loads 75 more, which makes each start slower; see `completePool`. */
const require = createRequire(import.meta.url);

export type Pool = Pick<undici.Pool, 'dispatch' | 'close' | 'destroy' | 'destroyed' | 'stats'>;

export const Pool = require('undici/lib/dispatcher/pool.js') as new (
  origin: string,
  options: undici.Pool.Options,
) => Pool;

export type Connector = undici.buildConnector.connector;

/** Adds the methods that a pool lacks, such as `request` and `stream`. For this, it loads the whole library. */
export async function completePool(pool: Pool): Promise<undici.Pool> {
  await import('undici');
  return pool as undici.Pool;
}

export const buildConnector = require('undici/lib/core/connect.js') as typeof undici.buildConnector;

export const errors = require('undici/lib/core/errors.js') as typeof undici.errors;
