import { type RequestTask, run as runTask } from '../../src/calls/request-worker.ts';

/** The request worker, extended by bodies that crash it: one fills the heap, one never finishes. No real body is known to do either. */
export function run(task: RequestTask): unknown {
  const text = Buffer.from(task.body).toString('latin1', 0, 200);
  if (text.includes('"harm":"memory"')) {
    // In small allocations, slower than garbage collection: one large allocation above the limit, or many that a collection finds at
    // once, end the whole process.
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
