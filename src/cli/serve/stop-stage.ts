import type { StopSignal } from './stop-signals.ts';

/**
 * Stages of the shutdown of all workers. They are those of `StopSignals` for one process:
 *
 *     running ──SIGTERM──▶ delaying ──any signal, or a worker closes──▶ closing ──any signal──▶ killed
 *        └──SIGINT─────────────────────────────────────────────────────────▲
 */
export type StopStage = 'running' | 'delaying' | 'closing';

interface StopStep {
  readonly stage: StopStage;
  /** `relay`: pass the signal on to every worker. `end`: kill all processes. */
  readonly act: 'relay' | 'end';
}

export function onStopSignal(stage: StopStage, signal: StopSignal): StopStep {
  if (stage === 'closing') return { stage, act: 'end' };
  const isFirst = stage === 'running';
  return { stage: isFirst && signal === 'SIGTERM' ? 'delaying' : 'closing', act: 'relay' };
}

/** Returns the stage after a worker closes: the first one that does ends the delay of all. */
export function onWorkerCloses(stage: StopStage): StopStage {
  return stage === 'delaying' ? 'closing' : stage;
}
