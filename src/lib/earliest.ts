/** The commit that brings up to date what is older than migration 44: databases, journals, exports and demos. */
const UPGRADES_FIRST = 'b3da9e93';

/** What to do with something that is older than this program reads (`docs/decisions/0052-one-baseline.md`). */
export const UPGRADE_FIRST = `Start Faregate of commit ${UPGRADES_FIRST} on that database first, which brings it up to date.`;
