import type { UsageGroup as OperatorUsageGroup, OwnUsageGroup } from '../../api/types.ts';

/** A group of calls as the usage endpoints sum it up; of account holders and of operators alike. */
export type UsageGroup = Omit<OwnUsageGroup, 'chargeYuan' | 'refundYuan' | 'heldYuan'> &
  Pick<OperatorUsageGroup, 'provider'>;
