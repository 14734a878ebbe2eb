import type { UsageGroup as OperatorUsageGroup, OwnUsageGroup } from '../../api/types.ts';

/** A group of the usage endpoints, of account holders or operators. */
export type UsageGroup = Omit<OwnUsageGroup, 'chargeYuan' | 'refundYuan' | 'heldYuan'> &
  Pick<OperatorUsageGroup, 'provider' | 'groupId'>;
