import { setFlagsFromString } from 'node:v8';
import { isMainThread } from 'node:worker_threads';

/** Loaded into a gateway before its own code (`node --import`), in place of the meter: each collection of garbage prints a line. */
if (isMainThread) setFlagsFromString('--trace-gc');
