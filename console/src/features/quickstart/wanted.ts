import type { CallTarget } from '../../parts/calling/call-target.ts';
import type { System } from '../../parts/calling/post.ts';

/** The choices from which client settings are generated. */
export interface Wanted extends CallTarget {
  readonly model: string;
  /** The key, or a placeholder. */
  readonly key: string;
  readonly system: System;
  readonly contextTokens: number | null;
  readonly outputTokens: number | null;
}

/** Content of a file, or a command if there is no file; or values for the fields of a form. */
export type Setting =
  | { readonly file: string | null; readonly code: string }
  | { readonly form: string; readonly fields: readonly (readonly [label: string, value: string])[] };

export type Operation = 'chat' | 'responses' | 'messages';

export interface Client {
  readonly name: string;
  /** The protocol that the model must support. */
  readonly operation: Operation;
  /** Whether the settings are stored permanently, which a one-hour key does not suit. */
  readonly isLasting: boolean;
  /** The date and source of the last comparison with the vendor's documentation; `null` if tests run the settings. */
  readonly checked: { readonly on: string; readonly against: string } | null;
  readonly settings: (wanted: Wanted) => readonly Setting[];
}

export function written(settings: object): string {
  return JSON.stringify(settings, null, 2);
}
