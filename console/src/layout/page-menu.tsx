import { NavLink, Select, Text, UnstyledButton } from '@mantine/core';
import { ChevronDownIcon, ChevronRightIcon } from '@primer/octicons-react';
import { type ReactNode, useEffect, useRef, useState } from 'react';
import { useAccountChoice } from '../api/account-choice.ts';
import { pageTexts } from '../parts/texts.ts';
import { useSession } from '../session/session.tsx';
import { useLanguage, useTexts } from '../text/language.tsx';
import { type ConsolePage, MENU_GROUPS, type MenuGroup } from './console-page.ts';

const texts = pageTexts(
  {
    chooseAccount: 'Account that is shown',
    operator: 'Operator',
    auditor: 'Auditor',
    groups: {
      calling: 'Calls and keys',
      money: 'Money and plan',
      account: 'Account',
      watch: 'Calls and usage',
      accounts: 'Accounts and people',
      catalog: 'Catalog',
      gateway: 'Gateway',
    } satisfies Record<MenuGroup, string>,
  },
  {
    chooseAccount: '当前账户',
    operator: '管理员',
    auditor: '审计员',
    groups: {
      calling: '调用与密钥',
      money: '资金与套餐',
      account: '账户',
      watch: '调用与用量',
      accounts: '账户与人员',
      catalog: '目录',
      gateway: '网关',
    },
  },
);

export interface MenuProps {
  /** All pages. The menu shows those that the user may open. */
  readonly pages: readonly ConsolePage[];
  /** `null` if no known page is shown. */
  readonly current: ConsolePage | null;
}

/** The menu in collapsible groups: first the account's, then the operators'. `isShown` is false while the menu is hidden. */
export function PageMenu({ pages, current, isShown }: MenuProps & { readonly isShown: boolean }) {
  const text = useTexts(texts);
  const { memberships, operatorRole } = useSession();
  const { accountId, role, choose } = useAccountChoice();
  const inMenu = pages.filter(({ icon }) => icon !== null);
  const ofAccount = inMenu.filter((page) => page.for === 'member' || (page.for === 'owner' && role === 'owner'));
  const groupsOf = (shown: readonly ConsolePage[]) => <Groups pages={shown} current={current} isShown={isShown} />;
  return (
    <>
      {accountId !== null && memberships.length > 1 && (
        <Select
          aria-label={text.chooseAccount}
          data={memberships.map((membership) => ({ value: membership.accountId, label: membership.accountName }))}
          value={accountId}
          onChange={(chosen) => chosen !== null && choose(chosen)}
          allowDeselect={false}
          searchable={memberships.length > 8}
          mb="xs"
        />
      )}
      {accountId !== null && memberships.length === 1 && (
        <Heading>{memberships[0]?.accountName ?? text.account}</Heading>
      )}
      {accountId !== null && groupsOf(ofAccount)}
      {operatorRole !== null && <Heading>{operatorRole === 'operator' ? text.operator : text.auditor}</Heading>}
      {operatorRole !== null && groupsOf(inMenu.filter((page) => page.for === 'operator'))}
    </>
  );
}

function Heading({ children }: { readonly children: ReactNode }) {
  return (
    <Text size="sm" fw={700} px="xs" pt="xs" truncate>
      {children}
    </Text>
  );
}

const STORED_AS = 'faregate.folded';

function Groups({ pages, current, isShown }: MenuProps & { readonly isShown: boolean }) {
  const text = useTexts(texts);
  const [folded, setFolded] = useState(() => (localStorage.getItem(STORED_AS) ?? '').split(' '));
  function fold(group: MenuGroup): void {
    const others = folded.filter((each) => each !== group);
    const next = others.length < folded.length ? others : [...folded, group];
    localStorage.setItem(STORED_AS, next.join(' '));
    setFolded(next);
  }
  return MENU_GROUPS.map((group) => {
    const ofGroup = pages.filter((page) => page.group === group);
    if (ofGroup.length === 0) return null;
    const isFolded = folded.includes(group);
    return (
      <div key={group}>
        <UnstyledButton
          w="100%"
          px="xs"
          py={6}
          fz="xs"
          fw={700}
          c="dimmed"
          aria-expanded={!isFolded}
          onClick={() => fold(group)}
        >
          {isFolded ? <ChevronRightIcon size={12} /> : <ChevronDownIcon size={12} />} {text.groups[group]}
        </UnstyledButton>
        {ofGroup.map((page) => {
          const isCurrent = current !== null && (current.path === page.path || current.path === `${page.path}/:id`);
          // A collapsed group still shows the current page.
          if (isFolded && !isCurrent) return null;
          return <PageLink key={page.path} page={page} isCurrent={isCurrent} isShown={isShown} />;
        })}
      </div>
    );
  });
}

interface PageLinkProps {
  readonly page: ConsolePage;
  readonly isCurrent: boolean;
  readonly isShown: boolean;
}

function PageLink({ page: { path, title, icon: Icon }, isCurrent, isShown }: PageLinkProps) {
  const { language } = useLanguage();
  const link = useRef<HTMLAnchorElement>(null);
  useEffect(() => {
    if (isCurrent && isShown) link.current?.scrollIntoView({ block: 'nearest' });
  }, [isCurrent, isShown]);
  return (
    <NavLink
      ref={link}
      href={`#${path}`}
      label={title[language]}
      leftSection={Icon === null ? null : <Icon />}
      active={isCurrent}
      aria-current={isCurrent ? 'page' : undefined}
      py={6}
    />
  );
}
