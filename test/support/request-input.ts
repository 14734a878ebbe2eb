import type { CallInput, JsonOperation } from '../../src/protocols/operations/operation.ts';

/** The input of a call with this body. The facts are cloned, as they are where another thread reads the body. */
export function readInput(operation: JsonOperation, body: string | Buffer): CallInput {
  const bytes = Buffer.isBuffer(body) ? body : Buffer.from(body);
  return operation.toInput(structuredClone(operation.read(bytes)), bytes);
}
