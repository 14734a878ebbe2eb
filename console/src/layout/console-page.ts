import type { Icon } from '@primer/octicons-react';
import type { LoadedLater } from '../parts/loaded-later.tsx';
import type { Language } from '../text/language.tsx';
import type { PageFor } from './page-for.ts';

/** The groups of the menu in order; groups of the account come first. */
export const MENU_GROUPS = ['calling', 'money', 'account', 'watch', 'accounts', 'catalog', 'gateway'] as const;
export type MenuGroup = (typeof MENU_GROUPS)[number];

export interface ConsolePage {
  /** The part after `#`, with `:id` if the page shows one item. */
  readonly path: string;
  readonly title: Readonly<Record<Language, string>>;
  readonly for: PageFor;
  readonly group: MenuGroup;
  /** `null` hides the page from the menu. */
  readonly icon: Icon | null;
  readonly code: LoadedLater<PageProps>;
}

export interface PageProps {
  /** The value of `:id` in the address; empty if the path has none. */
  readonly id: string;
}
