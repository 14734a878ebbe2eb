import type { FallbackReason } from '../config/attempt-schema.ts';
import type { Model } from '../providers/catalog/catalog.ts';

/** Why another model serves a call, and for which one. */
export interface Fallback {
  /** The model that the client asked for. */
  readonly asked: Model;
  readonly reason: FallbackReason;
}
