/** The amounts of a group of usage, as the columns of CSV have them. */
export const USAGE_AMOUNTS = [
  'chargeYuan',
  'refundYuan',
  'netChargeYuan',
  'planRevenueYuan',
  'costYuan',
  'planCostYuan',
  'marginYuan',
  'balanceMarginYuan',
  'planMarginYuan',
] as const;
