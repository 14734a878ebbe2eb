export interface Finding {
  /** What was checked, such as `disk` or `provider acme`. */
  readonly check: string;
  /** `warning`: the gateway runs, but at a risk. `failed`: the gateway or a part of it does not run. */
  readonly state: 'ok' | 'warning' | 'failed';
  readonly detail: string;
  /** What an operator should do; absent for `ok`. */
  readonly advice?: string;
}

export const ok = (check: string, detail: string): Finding => ({ check, state: 'ok', detail });

const ofState =
  (state: Finding['state']) =>
  (check: string, detail: string, advice: string): Finding => ({ check, state, detail, advice });

export const warning = ofState('warning');

export const failed = ofState('failed');

/** Returns the message or the code of an error of the system or the network. */
export function errorText(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { code } = error as NodeJS.ErrnoException;
  return error.message || code || error.name;
}
