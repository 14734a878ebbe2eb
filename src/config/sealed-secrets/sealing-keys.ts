import { randomBytes } from 'node:crypto';
import { ForeseenError } from '../../lib/foreseen-error.ts';
import type { Environment } from '../load.ts';
import { readRegularFile, UnreadableFileError } from '../regular-file.ts';
import { createSealingKey, KEY_BYTES, type SealingKey } from './sealing.ts';

/** Environment variable with the keys that seal secrets. The next one names a file with keys. */

const KEY = 'FAREGATE_SECRETS_KEY';
const KEY_FILE = 'FAREGATE_SECRETS_KEY_FILE';

/** Thrown if a key cannot be used. The message shows no part of it. */
export class SealingKeyError extends ForeseenError {}

/** Message that tells what to do if a process has no key. */
export const NO_SEALING_KEY = `There is no key for sealed secrets. Set ${KEY} or ${KEY_FILE}; "faregate secret new-key" creates a key.`;

/**
 * Reads the keys of this process. The first one seals; each of them can open. A file is read again at each call, so that its keys can be
 * replaced without a restart.
 *
 * @throws SealingKeyError
 */
export function readSealingKeys(environment: Environment): readonly SealingKey[] {
  const { [KEY]: text = '', [KEY_FILE]: file = '' } = environment;
  if (file === '') return text === '' ? [] : parseKeys(text, KEY);
  if (text !== '') throw new SealingKeyError(`Set either ${KEY} or ${KEY_FILE}, not both.`);
  try {
    return parseKeys(readRegularFile(file).bytes.toString('latin1'), KEY_FILE);
  } catch (error) {
    if (error instanceof UnreadableFileError) throw new SealingKeyError(`${KEY_FILE}: ${error.message}`);
    throw error;
  }
}

function parseKeys(text: string, source: string): readonly SealingKey[] {
  const keys = text
    .split(/[\s,]+/)
    .filter((each) => each !== '')
    .map((each) => {
      const bytes = parseKey(each);
      if (bytes !== null && new Set(bytes).size >= DISTINCT_MIN) return createSealingKey(bytes);
      const reason = bytes === null ? `must be ${KEY_BYTES} bytes in base64 or hexadecimal` : 'is not random';
      throw new SealingKeyError(`${source}: Each key ${reason}. "faregate secret new-key" creates one.`);
    });
  if (keys.length === 0) throw new SealingKeyError(`${source}: There is no key in it.`);
  return [...new Map(keys.map((key) => [key.id, key])).values()];
}

/** Minimum number of different bytes in a key. Less than one in 10¹⁵ random keys has fewer. */
const DISTINCT_MIN = 16;

const HEX = /^[0-9a-f]{64}$/i;
const BASE64 = /^[\w+/-]{43}=?$/;

function parseKey(text: string): Buffer | null {
  if (HEX.test(text)) return Buffer.from(text, 'hex');
  return BASE64.test(text) ? Buffer.from(text, 'base64') : null;
}

/** Returns a new key as base64. */
export function newSealingKey(): string {
  return randomBytes(KEY_BYTES).toString('base64');
}
