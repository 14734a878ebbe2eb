import { gzipSync } from 'node:zlib';

/** Bodies that are large if they are unpacked. They are made once, before anything is measured. */

const MIB = 2 ** 20;

export interface Filled {
  readonly before: string;
  /** Repeated until it fills the body. */
  readonly filling: string;
  readonly after: string;
  readonly mebibytes: number;
}

/** The bytes of a body between `before` and `after`, filled with whole copies. */
export function filled({ before, filling, after, mebibytes }: Filled): Buffer {
  const copies = Math.floor((mebibytes * MIB - before.length - after.length) / filling.length);
  return Buffer.concat([Buffer.from(before), Buffer.alloc(copies * filling.length, filling), Buffer.from(after)]);
}

export function bomb(body: Filled): Buffer {
  return gzipSync(filled(body), { level: 9 });
}

export const GZIP = { 'content-encoding': 'gzip', 'content-type': 'application/json' } as const;

/** Makes a value at the first call. */
export function once<Value>(make: () => Value): () => Value {
  let made: { value: Value } | null = null;
  return () => {
    made ??= { value: make() };
    return made.value;
  };
}

/** So many words, each of them a token. */
export function words(count: number): string {
  return ' apple'.repeat(count);
}
