import { cruise } from 'dependency-cruiser';
import { OPTIONS, RULES } from './import-rules.ts';

/**
 * Checks which file imports which, in `src` and in the console, by `import-rules.ts`. Exit code 1 if a rule is broken.
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
  const mend = RULES.find(({ name }) => name === rule.name)?.comment ?? '';
  console.error(`${from} → ${way}: ${rule.name}\n  ${mend}`);
}
// A parser that reads no types would find few imports, and all of them in order.
if (totalDependenciesCruised < totalCruised) throw new Error(`only ${totalDependenciesCruised} imports were found`);
if (violations.length > 0) process.exitCode = 1;
else console.log(`${totalDependenciesCruised} imports of ${totalCruised} files follow the rules.`);
