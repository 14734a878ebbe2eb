import type { StopSignal } from './stop-signals.ts';

/**
 * The shutdown of the workers, with the same stages as `StopSignals` for one process:
 *
 *     running ──SIGTERM──▶ delaying ──any signal, or a worker closes──▶ closing ──any signal──▶ killed
 *        └──SIGINT─────────────────────────────────────────────────────────▲
 */
export type StopStage = 'running' | 'delaying' | 'closing';

interface StopStep {
  readonly stage: StopStage;
  /** Pass the signal on to every worker, or kill all processes. */
  readonly act: 'relay' | 'end';
}

export function onStopSignal(stage: StopStage, signal: StopSignal): StopStep {
  if (stage === 'closing') return { stage, act: 'end' };
  const isFirst = stage === 'running';
  return { stage: isFirst && signal === 'SIGTERM' ? 'delaying' : 'closing', act: 'relay' };
}

/** The first worker to close ends the drain delay of all. */
export function onWorkerCloses(stage: StopStage): StopStage {
  return stage === 'delaying' ? 'closing' : stage;
}
