import assert from 'node:assert/strict';
import { GatewayError } from '../../src/errors/gateway-error.ts';
import type { CallInput, JsonOperation } from '../../src/protocols/operations/operation.ts';

/** The input of a call with this body. Its facts are cloned, as if another thread had read the body. */
export function readInput(operation: JsonOperation, body: string | Buffer): CallInput {
  const bytes = Buffer.isBuffer(body) ? body : Buffer.from(body);
  return operation.toInput(structuredClone(operation.read(bytes)), bytes);
}

/** Asserts a refusal with 400 that names this parameter; `null`: none. */
export function assertRefused(read: () => unknown, param: string | null, request = 'it'): void {
  assert.throws(
    read,
    (error) => error instanceof GatewayError && error.status === 400 && error.param === param,
    `${request} must be refused for ${param}`,
  );
}

/** Like `assertRefused`, for bodies of an operation. */
export function refusalsOf(operation: JsonOperation): (body: string, param: string | null) => void {
  return (body, param) => assertRefused(() => readInput(operation, body), param, body);
}
