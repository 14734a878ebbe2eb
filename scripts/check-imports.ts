import { cruise } from 'dependency-cruiser';
import { OPTIONS, RULES } from './import-rules.ts';

/**
 * Checks the imports in `src` and in the console against `import-rules.ts`. Exit code 1 for violations.
 *
 *   node scripts/check-imports.ts
 */
const { output } = await cruise(['src', 'console/src'], {
  ...OPTIONS,
  ruleSet: { forbidden: [...RULES] },
  validate: true,
});
if (typeof output === 'string') throw new Error('the imports were not checked');
const { violations, totalCruised, totalDependenciesCruised = 0 } = output.summary;
for (const { from, to, rule, cycle = [] } of violations) {
  const way = cycle.length > 0 ? cycle.map(({ name }) => name).join(' → ') : to;
  const advice = RULES.find(({ name }) => name === rule.name)?.comment ?? '';
  console.error(`${from} → ${way}: ${rule.name}\n  ${advice}`);
}
// If the parser ignored types, it would find few imports and no violations.
if (totalDependenciesCruised < totalCruised) throw new Error(`found only ${totalDependenciesCruised} imports`);
if (violations.length > 0) process.exitCode = 1;
else console.log(`${totalDependenciesCruised} imports of ${totalCruised} files follow the rules.`);
