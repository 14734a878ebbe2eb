import { argon2, randomFillSync, timingSafeEqual } from 'node:crypto';
import { availableParallelism } from 'node:os';
import type { FillRandom } from '../lib/ids.ts';
import { withoutTrailing } from '../lib/trailing.ts';
import { type HashAsker, HashQueue } from './hash-queue.ts';

/** Cost of a password hash. OWASP recommends 19 MiB and two passes for argon2id: about 40 ms on one core. */
export interface HashCost {
  readonly memoryKib: number;
  readonly passes: number;
}

const HASH_COST: HashCost = { memoryKib: 19_456, passes: 2 };

const SALT_BYTES = 16;
const HASH_BYTES = 32;
const PHC = /^\$argon2id\$v=19\$m=(\d{1,7}),t=(\d{1,3}),p=1\$([A-Za-z0-9+/]{22})\$([A-Za-z0-9+/]{43})$/;

/**
 * Maximum number of concurrent hashes. They share a thread pool with the journal: half of it stays free, and on a small machine attempts to
 * sign in use one core at most.
 */
const AT_ONCE = availableParallelism() >= 4 ? 2 : 1;
/** Maximum number of queued hashes, which together take a few seconds. */
const WAITING_MAX = 100;

export class PasswordsBusyError extends Error {
  constructor() {
    super('too many passwords are waiting to be hashed');
    this.name = 'PasswordsBusyError';
  }
}

interface PasswordsOptions {
  readonly fillRandom?: FillRandom;
  readonly cost?: HashCost;
  readonly atOnce?: number;
  readonly waitingMax?: number;
}

/** Hashes and verifies passwords. The queue is bounded, and fair between networks. */
export class Passwords {
  readonly #fillRandom: FillRandom;
  readonly #cost: HashCost;
  readonly #atOnce: number;
  readonly #queue: HashQueue;
  readonly #nobodys: string;
  #running = 0;

  constructor(options: PasswordsOptions = {}) {
    this.#fillRandom = options.fillRandom ?? randomFillSync;
    this.#cost = options.cost ?? HASH_COST;
    this.#atOnce = options.atOnce ?? AT_ONCE;
    this.#queue = new HashQueue(options.waitingMax ?? WAITING_MAX);
    this.#nobodys = toPhc(this.#cost, this.#random(SALT_BYTES), this.#random(HASH_BYTES));
  }

  async hash(password: string, asker: HashAsker): Promise<string> {
    const salt = this.#random(SALT_BYTES);
    return toPhc(this.#cost, salt, await this.#run(password, salt, this.#cost, asker));
  }

  /** Verifies a password. Without a stored hash, takes the same time and returns false. @throws PasswordsBusyError */
  async verify(password: string, stored: string | null, asker: HashAsker): Promise<boolean> {
    const { cost, salt, hash } = fromPhc(stored ?? this.#nobodys);
    return timingSafeEqual(await this.#run(password, salt, cost, asker), hash) && stored !== null;
  }

  async #run(password: string, salt: Buffer, { memoryKib, passes }: HashCost, asker: HashAsker): Promise<Buffer> {
    if (this.#running >= this.#atOnce) {
      await new Promise<void>((resolve, reject) => {
        const giveUp = (): void => reject(new PasswordsBusyError());
        if (!this.#queue.push(asker, resolve, giveUp)) giveUp();
      });
    } else this.#running++;
    try {
      return await derive(password.normalize('NFKC'), salt, memoryKib, passes);
    } finally {
      // Gives the slot directly to the next entry of the queue, which comes before new requests.
      if (!this.#queue.beginNext()) this.#running--;
    }
  }

  #random(length: number): Buffer {
    const bytes = Buffer.alloc(length);
    this.#fillRandom(bytes);
    return bytes;
  }
}

function derive(message: string, nonce: Buffer, memory: number, passes: number): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    argon2('argon2id', { message, nonce, parallelism: 1, tagLength: HASH_BYTES, memory, passes }, (error, hash) => {
      if (error) reject(error);
      else resolve(hash);
    });
  });
}

/** Formats a hash as a PHC string, in base64 without padding. */
function toPhc({ memoryKib, passes }: HashCost, salt: Buffer, hash: Buffer): string {
  return `$argon2id$v=19$m=${memoryKib},t=${passes},p=1$${toBase64(salt)}$${toBase64(hash)}`;
}

function fromPhc(text: string): { cost: HashCost; salt: Buffer; hash: Buffer } {
  const match = PHC.exec(text);
  if (match === null) throw new Error('a stored password hash has an unknown format');
  const [, memory, passes, salt, hash] = match as unknown as [string, string, string, string, string];
  return {
    cost: { memoryKib: Number(memory), passes: Number(passes) },
    salt: Buffer.from(salt, 'base64'),
    hash: Buffer.from(hash, 'base64'),
  };
}

function toBase64(bytes: Buffer): string {
  return withoutTrailing(bytes.toString('base64'), '=');
}
