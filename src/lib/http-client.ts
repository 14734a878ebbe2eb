import { createRequire } from 'node:module';
import type * as undici from 'undici';

/**
 * The parts of undici that calls need. Its own entry loads all of it, with a `fetch`, a WebSocket, caches and mocks: 75 more modules, which
 * a gateway would read at every start and keep. The entry gives
 * pools `request`, `stream` and the like: see `completePool`.
 */
const require = createRequire(import.meta.url);

/** Connections to one origin. */
export type Pool = Pick<undici.Pool, 'dispatch' | 'close' | 'destroy' | 'destroyed' | 'stats'>;

export const Pool = require('undici/lib/dispatcher/pool.js') as new (
  origin: string,
  options: undici.Pool.Options,
) => Pool;

/** Makes a connection. */
export type Connector = undici.buildConnector.connector;

/** The same pool with all that the library has for one, which is loaded for that. */
export async function completePool(pool: Pool): Promise<undici.Pool> {
  await import('undici');
  return pool as undici.Pool;
}

export const buildConnector = require('undici/lib/core/connect.js') as typeof undici.buildConnector;

export const errors = require('undici/lib/core/errors.js') as typeof undici.errors;
