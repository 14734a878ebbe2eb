import { setTimeout } from 'node:timers/promises';
import { createPace, type Pace } from '../lib/pace.ts';

/**
 * Of an audit, and of what drops old records: each takes at most half of the time, so that calls that share the processor or the disk
 * are not slowed down.
 */
export function auditPace(): Pace {
  return createPace({ nowMs: () => performance.now(), wait: (ms) => setTimeout(ms) });
}
