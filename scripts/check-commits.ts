import { execFileSync } from 'node:child_process';

/**
 * Checks commit messages since the rule was introduced: `part: effect` in at most 72 characters, and a body with the reason. Skips
 * merges, and clones without the history. Exit code 1 if a message breaks the rule.
 *
 *   node scripts/check-commits.ts
 */
const FIRST = 'src: rooms by what they hold, and tests by subject';
const SUBJECT = /^[a-z0-9.]+(?:[ -][a-z0-9.]+)*: \S.*$/;
const SUBJECT_CHARACTERS_MAX = 72;

const git = (...command: string[]): string => execFileSync('git', command, { encoding: 'utf8', maxBuffer: 2 ** 28 });

let commits: string[];
try {
  const first = git('log', '--fixed-strings', `--grep=${FIRST}`, '--format=%H').trim().split('\n').at(-1);
  commits = first ? git('log', '--no-merges', '--format=%h%x00%s%x00%b%x01', `${first}~..HEAD`).split('\x01') : [];
} catch {
  console.log('No history available; commit messages are not checked.');
  process.exit();
}
const problems = commits.flatMap((commit) => {
  const [hash = '', subject = '', body = ''] = commit.trim().split('\0');
  if (hash === '') return [];
  return [
    ...(SUBJECT.test(subject) ? [] : [`${hash} "${subject}": start with the part and a colon, "part: effect".`]),
    ...(subject.length <= SUBJECT_CHARACTERS_MAX ? [] : [`${hash}: the subject has ${subject.length} characters.`]),
    ...(body.trim() === '' ? [`${hash} "${subject}": give the reason in the body.`] : []),
  ];
});
for (const problem of problems) console.error(problem);
if (problems.length > 0) process.exitCode = 1;
else console.log(`${commits.length - 1} commit messages follow the rule.`);
