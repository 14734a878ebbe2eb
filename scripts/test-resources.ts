import asyncHooks, { type AsyncHook } from 'node:async_hooks';

/**
 * The runner follows every promise and every socket, so that it knows in which test something is declared, and by which test an
 * error came that nobody catches. To follow them takes a tenth of what tests of a gateway take of the processor. Nothing is
 * declared any more once all files of a process are loaded, so that it can end then; an error that nobody catches still
 * fails the process.
 *
 * This has to be loaded before `node:test`, which makes its hook with the function that stands here then.
 */
const { createHook } = asyncHooks;
let ofTheRunner: AsyncHook | null = null;

asyncHooks.createHook = (callbacks) => {
  asyncHooks.createHook = createHook;
  ofTheRunner = createHook(callbacks);
  return ofTheRunner;
};

/** From now on the runner follows nothing that tests make. */
export function stopFollowing(): void {
  ofTheRunner?.disable();
}
