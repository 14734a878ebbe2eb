import { type RequestTask, run as runTask } from '../../src/calls/request-worker.ts';

/**
 * The worker of requests, which a body can harm that says how: it fills the heap, or never ends. No real body is known to
 * do either.
 */
export function run(task: RequestTask): unknown {
  const text = Buffer.from(task.body).toString('latin1', 0, 200);
  if (text.includes('"harm":"memory"')) {
    // In small pieces, and no faster than they are collected: one large allocation beyond the limit, such as that of a growing
    // list, ends the whole process, and so may many that a collection finds beyond it at once.
    const pause = new Int32Array(new SharedArrayBuffer(4));
    let filled: unknown = null;
    for (let piece = 1; ; piece++) {
      filled = { before: filled, values: [0] };
      if (piece % 10_000 === 0) Atomics.wait(pause, 0, 0, 5);
    }
  }
  if (text.includes('"harm":"time"')) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
  return runTask(task);
}
