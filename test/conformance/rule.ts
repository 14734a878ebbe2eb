import { it } from 'node:test';

/**
 * The tests of this folder are the contract, one file a section. The name of every test is a rule and begins with the
 * number of its section: `4.3 a prompt_cache_key of 65 characters is 400`. `REPORT.md` beside them is made of them.
 *
 * A rule that no test can show is one as well, with the reason.
 */
export function notTestable(rule: string, reason: string): void {
  it(rule, { skip: reason });
}
