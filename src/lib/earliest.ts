/** Commit of this program that upgrades databases, journals, exports and demos from before migration 44. */
const UPGRADES_FIRST = 'b3da9e93';

/** Advice in error messages about data that is too old for this program (`docs/decisions/0052-one-baseline.md`). */
export const UPGRADE_FIRST = `First start Faregate at commit ${UPGRADES_FIRST} on that database: that version upgrades it.`;
