import type { ShownUsage } from './shown-usage.ts';

/** What writers of answers need of the call. */
export interface AnswerTerms {
  readonly callId: string;
  /** The model as the client called it. Answers name it: Claude Code returns reasoning only to the model that the answer named. */
  readonly model: string;
  /** Hash of the provider, which marks its reasoning. */
  readonly maker: string;
  /** Whether the client reads reasoning. Otherwise only the carrier has it. */
  readonly showsReasoning: boolean;
  /** Whether a chat client asked for usage at the end of its stream. */
  readonly reportsUsage: boolean;
  /** A low estimate of the input, for streams that begin with their usage. */
  readonly inputTokensLow: number;
  /** Seconds since 1970, for protocols that state when an answer was made. */
  readonly createdAt: number;
}

/** Writes events as text. */
export interface StreamWriter {
  /** Size of what is kept for the end of a block or of the stream. */
  readonly keptBytes: number;
  /** Returns what was written since the last time. */
  take(): string;
  /** Returns the end of the stream. */
  finish(usage: ShownUsage | null): string;
}
