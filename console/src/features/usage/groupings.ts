import type { Dimension } from './texts.ts';

/** What operators can divide usage by. */
export const GROUPINGS = ['model', 'provider', 'account', 'day', 'status'] as const satisfies readonly Dimension[];
export type Grouping = (typeof GROUPINGS)[number];
