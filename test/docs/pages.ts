import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** The pages whose commands are run. */

const ROOT = fileURLToPath(new URL('../../', import.meta.url));

/** Run on the demo in reading order, because some use results of earlier ones. */
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
  /** The reason why it is not run, from a comment before it: `<!-- not run: … -->`. */
  readonly notRun: string | null;
}

/** The fenced blocks of a page. */
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
