import type { DefaultTheme } from 'vitepress';
import { pages, placeOf } from './places.ts';

/** The navigation, by who reads. */

type Item = DefaultTheme.SidebarItem;
type Titles = (file: string) => string;

const ENGLISH: readonly (readonly [string, readonly string[]])[] = [
  ['Start', ['README', 'docs/getting-started', 'docs/console', 'docs/features', 'docs/comparison', 'docs/faq', 'CHANGELOG']],
  [
    'Configure',
    [
      'docs/configuration',
      'docs/configuration-reference',
      'docs/providers',
      'docs/routing',
      'docs/presets',
      'docs/limits',
      'docs/translation',
      'docs/openid-connect',
      'docs/people',
    ],
  ],
  ['Move from', ['docs/moving-from/*']],
  ['Sell', ['docs/billing', 'docs/charges', 'docs/coding-plan', 'docs/vouchers', 'docs/usage', 'docs/callers']],
  [
    'Operate',
    [
      'docs/operations/README',
      'docs/command-line',
      'docs/operations/*',
      'docs/notices',
      'docs/metrics',
      'docs/logging',
      'docs/tracing',
      'docs/moving',
      'docs/scale',
      'docs/faults',
    ],
  ],
  ['Agents and SDKs', ['docs/agents', 'docs/sdks', 'docs/client-aborts', 'docs/provider-state']],
  [
    'API',
    ['docs/contract', 'docs/errors', 'docs/account-api', 'docs/openapi', 'docs/api/public', 'docs/api/account', 'docs/api/admin'],
  ],
  ['Security', ['docs/security']],
];

const CHINESE = ['README', 'getting-started', 'console', 'coding-plan'];

export function englishSidebar(titleOf: Titles): Item[] {
  const shown = new Set<string>();
  const group = (text: string, names: readonly string[]): Item => {
    const files = names.flatMap(filesOf).filter((file) => !shown.has(file));
    for (const file of files) shown.add(file);
    return { text, items: files.map((file) => itemOf(file, titleOf)) };
  };
  const groups = ENGLISH.map(([text, names]) => group(text, names));
  // What nobody needs who uses the program: for those who read or change it. New pages are found there until they have a place above.
  const rest = pages.filter((file) => !file.startsWith('docs/zh/') && !file.startsWith('docs/decisions/0'));
  return [...groups, group('Inside', rest.map((file) => file.replace(/\.md$/, '')))];
}

export function chineseSidebar(titleOf: Titles): Item[] {
  const files = [...CHINESE, '*'].flatMap((name) => filesOf(`docs/zh/${name}`));
  return [{ text: '入门', items: [...new Set(files)].map((file) => itemOf(file, titleOf)) }];
}

function filesOf(name: string): string[] {
  if (!name.endsWith('/*')) return pages.filter((file) => file === `${name}.md`);
  const folder = name.slice(0, -1);
  return pages.filter((file) => file.startsWith(folder) && !file.slice(folder.length).includes('/'));
}

function itemOf(file: string, titleOf: Titles): Item {
  return { text: titleOf(file), link: `/${placeOf(file).replace(/(index)?\.md$/, '')}` };
}
