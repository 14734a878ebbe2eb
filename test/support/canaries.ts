import assert from 'node:assert/strict';
import { inspect } from 'node:util';
import type { Logger } from '../../src/lib/logger.ts';
import { foundIn } from './shown-secrets.ts';

/** What calls of tests say, and what providers of tests respond and are called with: none of it may be in a log. */
export const CANARIES: readonly string[] = ['Say hello.', 'Hello there', 'provider-secret-key'];

/** What a text looks like if it was written into something: as it is, as bytes in hex, and in base64 at any place. */
export function formsOf(text: string): string[] {
  const bytes = Buffer.from(text);
  const base64 = [0, 1, 2].map((before) => {
    const encoded = Buffer.concat([Buffer.alloc(before), bytes]).toString('base64');
    // The characters at both ends have bits of what stands beside the text.
    return encoded.slice(before === 0 ? 0 : before + 1, -4);
  });
  return [text, bytes.toString('hex'), ...base64];
}

/** A logger whose lines are searched, at the end, for what may not be in them; another one gets them at once. */
export interface SearchedLogger {
  readonly logger: Logger;
  /** Adds one more text that may not be in a line. */
  add(secret: string): void;
  /** Fails if a line had such a text in it. */
  assertNoneFound(): void;
}

export function searchLogs(logger: Logger, secrets: readonly string[]): SearchedLogger {
  const forms = secrets.flatMap(formsOf);
  const lines: string[] = [];
  const at =
    (level: keyof Logger) =>
    (details: object, message: string): void => {
      lines.push(textsIn([details, message]).join('\n'));
      logger[level](details, message);
    };
  return {
    logger: { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') },
    add: (secret) => void forms.push(...formsOf(secret)),
    assertNoneFound() {
      const found = foundIn(lines.join('\n'), forms);
      const told = lines.filter((line) => found.some((form) => line.includes(form)));
      assert.deepEqual(told, [], 'a log has a secret, a prompt or a response in it');
    },
  };
}

/** Every text inside of a value, also where a serialiser would leave it out. */
function textsIn(value: unknown): string[] {
  const texts: string[] = [];
  const seen = new Set<object>();
  const add = (part: unknown): void => {
    if (typeof part === 'string') texts.push(part);
    if (typeof part !== 'object' || part === null || seen.has(part)) return;
    seen.add(part);
    // Bytes, maps and the like do not have what they hold as members.
    if (!isPlain(part)) texts.push(inspect(part, { depth: 20, showHidden: true, maxStringLength: null }));
    for (const key of Reflect.ownKeys(part)) {
      if (typeof key === 'string') texts.push(key);
      add(Reflect.get(part, key));
    }
  };
  add(value);
  return texts;
}

function isPlain(value: object): boolean {
  return Array.isArray(value) || value instanceof Error || Object.getPrototypeOf(value) === Object.prototype;
}
