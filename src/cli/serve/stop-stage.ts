import type { StopSignal } from './stop-signals.ts';

/**
 * How far the end of the workers has come, as `StopSignals` has it for one process:
 *
 *     running ──SIGTERM──▶ delaying ──any signal, or a worker closes──▶ closing ──any signal──▶ ended at once
 *        └──SIGINT─────────────────────────────────────────────────────────▲
 */
export type StopStage = 'running' | 'delaying' | 'closing';

/** What the primary does about a signal. */
interface StopStep {
  readonly stage: StopStage;
  /** `relay`: every worker gets it; `end`: all processes end at once. */
  readonly act: 'relay' | 'end';
}

export function onStopSignal(stage: StopStage, signal: StopSignal): StopStep {
  if (stage === 'closing') return { stage, act: 'end' };
  const isFirst = stage === 'running';
  return { stage: isFirst && signal === 'SIGTERM' ? 'delaying' : 'closing', act: 'relay' };
}

/** A worker closes: its drain delay is over, and that of the others with it. */
export function onWorkerCloses(stage: StopStage): StopStage {
  return stage === 'delaying' ? 'closing' : stage;
}
