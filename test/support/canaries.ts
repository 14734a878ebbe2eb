import assert from 'node:assert/strict';
import { inspect } from 'node:util';
import type { Logger } from '../../src/lib/logger.ts';
import { foundIn } from './shown-secrets.ts';

/** Texts in prompts, responses and credentials of tests. None of them may appear in a log. */
export const CANARIES: readonly string[] = ['Say hello.', 'Hello there', 'provider-secret-key'];

/** The forms in which a text can be written: plain, hexadecimal, and base64 at each of the three offsets. */
export function formsOf(text: string): string[] {
  const bytes = Buffer.from(text);
  const base64 = [0, 1, 2].map((before) => {
    const encoded = Buffer.concat([Buffer.alloc(before), bytes]).toString('base64');
    // The first and last character also encode bits of the neighbouring text.
    return encoded.slice(before === 0 ? 0 : before + 1, -4);
  });
  return [text, bytes.toString('hex'), ...base64];
}

/** A logger that passes lines on and keeps them, to be searched for secrets at the end. */
export interface SearchedLogger {
  readonly logger: Logger;
  /** Adds another text that no line may contain. */
  add(secret: string): void;
  /** Fails if a line contains a secret. */
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
      const leaking = lines.filter((line) => found.some((form) => line.includes(form)));
      assert.deepEqual(leaking, [], 'a log has a secret, a prompt or a response in it');
    },
  };
}

/** Every text inside a value, including members that a serialiser would omit. */
function textsIn(value: unknown): string[] {
  const texts: string[] = [];
  const seen = new Set<object>();
  const add = (part: unknown): void => {
    if (typeof part === 'string') texts.push(part);
    if (typeof part !== 'object' || part === null || seen.has(part)) return;
    seen.add(part);
    // Bytes, maps and the like do not hold their contents as members.
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
