import { it } from 'node:test';

/**
 * The tests in this folder are the contract, one file per section. The name of every test is a rule and begins with the number of its
 * section: `4.3 a prompt_cache_key of 65 characters is 400`. `REPORT.md` is generated from them.
 *
 * A rule that no test can prove is listed with the reason.
 */
export function notTestable(rule: string, reason: string): void {
  it(rule, { skip: reason });
}
