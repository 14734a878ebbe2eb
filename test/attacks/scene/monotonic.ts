/**
 * The time in milliseconds by a clock that all processes of this machine share. A corrected system clock does not move it: a machine that
 * was suspended would otherwise be late by hundreds of calls, which the innocent caller would then send at once.
 */
export const monotonicMs = (): number => Number(process.hrtime.bigint()) / 1e6;
