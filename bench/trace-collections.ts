import { setFlagsFromString } from 'node:v8';
import { isMainThread } from 'node:worker_threads';

/** Loaded into a gateway before its own code (`node --import`), in place of the meter. Prints a line for each garbage collection. */
if (isMainThread) setFlagsFromString('--trace-gc');
