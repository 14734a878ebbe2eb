import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** The pages of the documentation whose commands are run. */

const ROOT = fileURLToPath(new URL('../../', import.meta.url));

/** Run on the demo, in the order in which somebody reads them: some use what those before have made. */
export const DEMO_PAGES: readonly string[] = [
  'README.md',
  'docs/getting-started.md',
  'docs/configuration.md',
  'docs/coding-plan.md',
  'docs/billing.md',
  'docs/calls.md',
  'docs/limits.md',
  'docs/account-api.md',
  'docs/usage.md',
  'docs/vouchers.md',
  'docs/notices.md',
  'docs/presets.md',
];

export interface Block {
  readonly language: string;
  readonly text: string;
  /** Why it is not run, which stands in a comment before it: `<!-- not run: … -->`. */
  readonly notRun: string | null;
}

/** The blocks of a page that have a fence. */
export function blocksOf(page: string): Block[] {
  const text = readFileSync(`${ROOT}${page}`, 'utf8');
  return [...text.matchAll(/(?:^<!-- not run: (.+) -->\n)?^```(\w*).*\n([\s\S]*?)^```$/gm)].map((match) => ({
    notRun: match[1] ?? null,
    language: match[2]!,
    text: match[3]!,
  }));
}

/** The commands of a page that are run, block by block. */
export function commandsOf(page: string): string[] {
  return blocksOf(page).flatMap(({ language, text, notRun }) => (language === 'sh' && notRun === null ? [text] : []));
}
