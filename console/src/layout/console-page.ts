import type { Icon } from '@primer/octicons-react';
import type { LoadedLater } from '../parts/loaded-later.tsx';
import type { Language } from '../text/language.tsx';

/** Who is shown a page: everybody in an account, its owners, operators and auditors, everybody. */
export type PageFor = 'member' | 'owner' | 'operator' | 'anyone';

/** The groups of the menu, in its order; an account's first. */
export const MENU_GROUPS = ['calling', 'money', 'account', 'watch', 'accounts', 'gateway'] as const;
export type MenuGroup = (typeof MENU_GROUPS)[number];

export interface ConsolePage {
  /** Behind the `#`; with `:id` where the page shows one thing. */
  readonly path: string;
  readonly title: Readonly<Record<Language, string>>;
  readonly for: PageFor;
  /** Where it stands in the menu. */
  readonly group: MenuGroup;
  /** `null`: not in the menu. */
  readonly icon: Icon | null;
  readonly code: LoadedLater<PageProps>;
}

export interface PageProps {
  /** What stands in the address at `:id`; empty if the page has none. */
  readonly id: string;
}
