/** What `faregate doctor` found out about one thing. */
export interface Finding {
  /** What was looked at, such as `disk` or `provider acme`. */
  readonly check: string;
  /** `warning`: the gateway runs, and something could go wrong. `failed`: it does not run, or not all of it. */
  readonly state: 'ok' | 'warning' | 'failed';
  readonly detail: string;
  /** What to do; absent if nothing is. */
  readonly advice?: string;
}

export const ok = (check: string, detail: string): Finding => ({ check, state: 'ok', detail });

export const warning = (check: string, detail: string, advice: string): Finding => ({
  check,
  state: 'warning',
  detail,
  advice,
});

export const failed = (check: string, detail: string, advice: string): Finding => ({
  check,
  state: 'failed',
  detail,
  advice,
});

/** The words of an error of the system or the network, such as `ECONNREFUSED`, without a stack. */
export function errorText(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { code } = error as NodeJS.ErrnoException;
  return error.message || code || error.name;
}
