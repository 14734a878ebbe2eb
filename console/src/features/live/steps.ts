/** The steps from an installation without a catalog to its first call, in order. */
export const STEPS = ['provider', 'model', 'account', 'key', 'call'] as const;
export type Step = (typeof STEPS)[number];

export interface FirstSteps {
  readonly done: ReadonlySet<Step>;
  /** The newest account; `null`: none. */
  readonly accountId: string | null;
  /** Model and provider of a route; `null`: none. */
  readonly model: string | null;
  readonly provider: string | null;
}

/** The first step that is not done; the call is done when this page shows calls. */
export const nextStep = ({ done }: Pick<FirstSteps, 'done'>): Step => STEPS.find((step) => !done.has(step)) ?? 'call';
