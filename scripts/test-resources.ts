import asyncHooks, { type AsyncHook } from 'node:async_hooks';

/**
 * The runner tracks all promises and sockets to attribute declarations and uncaught errors to tests. That takes a tenth of the CPU time of
 * gateway tests. Once all files of a process are loaded, nothing more is declared, so tracking can stop. Uncaught errors still fail the
 * process.
 *
 * Must be loaded before `node:test`, which creates its hook with the `createHook` that it finds.
 */
const { createHook } = asyncHooks;
let ofTheRunner: AsyncHook | null = null;

asyncHooks.createHook = (callbacks) => {
  asyncHooks.createHook = createHook;
  ofTheRunner = createHook(callbacks);
  return ofTheRunner;
};

/** Stops the tracking. */
export function stopFollowing(): void {
  ofTheRunner?.disable();
}
