import { gzipSync } from 'node:zlib';

/** Bodies that decompress to a large size. They are created once, before measurements. */

const MIB = 2 ** 20;

export interface Filled {
  readonly before: string;
  /** Repeated until the body is full. */
  readonly filling: string;
  readonly after: string;
  readonly mebibytes: number;
}

/** The bytes of a body: `before`, complete copies of the filling, `after`. */
export function filled({ before, filling, after, mebibytes }: Filled): Buffer {
  const copies = Math.floor((mebibytes * MIB - before.length - after.length) / filling.length);
  return Buffer.concat([Buffer.from(before), Buffer.alloc(copies * filling.length, filling), Buffer.from(after)]);
}

export function bomb(body: Filled): Buffer {
  return gzipSync(filled(body), { level: 9 });
}

export const GZIP = { 'content-encoding': 'gzip', 'content-type': 'application/json' } as const;

/** Creates a value on first use. */
export function once<Value>(make: () => Value): () => Value {
  let made: { value: Value } | null = null;
  return () => {
    made ??= { value: make() };
    return made.value;
  };
}

/** This many words of one token each. */
export function words(count: number): string {
  return ' apple'.repeat(count);
}
