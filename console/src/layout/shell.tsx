import { ActionIcon, AppShell, Burger, Group, Menu, NavLink, ScrollArea, Select, Text } from '@mantine/core';
import { useDisclosure, useMediaQuery } from '@mantine/hooks';
import { PersonIcon } from '@primer/octicons-react';
import { type ReactNode, useEffect, useRef } from 'react';
import { useAccountChoice } from '../api/account-choice.ts';
import { goTo, usePlace } from '../parts/location.tsx';
import { useSession } from '../session/session.tsx';
import { defineTexts, useLanguage, useTexts } from '../text/language.tsx';
import { useTimezone } from '../text/timezone.tsx';
import type { ConsolePage } from './console-page.ts';
import { LanguageMenu, Logo, ThemeButton, TimezoneItems } from './preferences.tsx';

const texts = defineTexts(
  {
    skip: 'Skip to the content',
    menu: 'Menu',
    account: 'Account',
    chooseAccount: 'Account that is shown',
    operator: 'Operator',
    auditor: 'Auditor',
    you: 'You',
    profile: 'Your profile',
    docs: 'API documentation',
    signOut: 'Sign out',
    zones: (instants: string, days: string) => `Times are those of ${instants}; days and months are those of ${days}.`,
  },
  {
    skip: '跳到内容',
    menu: '菜单',
    account: '账户',
    chooseAccount: '当前账户',
    operator: '管理员',
    auditor: '审计员',
    you: '我',
    profile: '个人资料',
    docs: 'API 文档',
    signOut: '退出登录',
    zones: (instants: string, days: string) => `时间按 ${instants} 显示；日期、月份按 ${days} 计算。`,
  },
);

interface MenuProps {
  /** All pages, of which those stand in the menu that the person may open. */
  readonly pages: readonly ConsolePage[];
  /** `null`: none of them is shown. */
  readonly current: ConsolePage | null;
}

/** The frame of all pages: who and where one is, and the menu. */
export function Shell({ children, ...menu }: MenuProps & { readonly children: ReactNode }) {
  const text = useTexts(texts);
  const { path } = usePlace();
  const [isOpen, { toggle, close }] = useDisclosure(false);
  // biome-ignore lint/correctness/useExhaustiveDependencies: the menu closes when one has gone elsewhere
  useEffect(close, [path, close]);
  useFocusOfPage(path);
  const isNarrow = useMediaQuery('(max-width: 47.99em)', undefined, { getInitialValueInEffect: false });
  return (
    <AppShell
      header={{ height: 56 }}
      navbar={{ width: 232, breakpoint: 'sm', collapsed: { mobile: !isOpen } }}
      padding={{ base: 'sm', sm: 'lg' }}
    >
      <button type="button" className="skip" onClick={() => document.getElementById('content')?.focus()}>
        {text.skip}
      </button>
      <AppShell.Header>
        <Group h="100%" px="md" justify="space-between" wrap="nowrap">
          <Group gap="sm" wrap="nowrap">
            <Burger
              opened={isOpen}
              onClick={toggle}
              hiddenFrom="sm"
              size="sm"
              aria-label={text.menu}
              aria-expanded={isOpen}
            />
            <Logo />
          </Group>
          <Group gap={4} wrap="nowrap">
            <LanguageMenu />
            <ThemeButton />
            <PersonMenu />
          </Group>
        </Group>
      </AppShell.Header>
      {/* Closed, it is only moved aside: nobody should come to links that are not seen. */}
      <AppShell.Navbar aria-label={text.menu} inert={isNarrow && !isOpen}>
        <AppShell.Section grow component={ScrollArea} p="xs">
          <AccountMenu {...menu} />
          <OperatorMenu {...menu} />
        </AppShell.Section>
      </AppShell.Navbar>
      <AppShell.Main id="content" tabIndex={-1}>
        {children}
        <Zones />
      </AppShell.Main>
    </AppShell>
  );
}

/** Where instants are shown in another zone than that of days and months, both are named. */
function Zones() {
  const text = useTexts(texts);
  const { zone, zones, differs } = useTimezone();
  return differs ? (
    <Text size="sm" c="dimmed" mt="md">
      {text.zones(zone, zones.billing)}
    </Text>
  ) : null;
}

/** When one has gone to another page, the keyboard and the screen reader go on there, unless the page has chosen a field. */
function useFocusOfPage(path: string): void {
  const shown = useRef(path);
  useEffect(() => {
    if (shown.current === path) return;
    shown.current = path;
    const content = document.getElementById('content');
    if (!content?.contains(document.activeElement)) content?.focus({ preventScroll: true });
  }, [path]);
}

function PersonMenu() {
  const text = useTexts(texts);
  const { user, signOut } = useSession();
  return (
    <Menu position="bottom-end">
      <Menu.Target>
        <ActionIcon variant="subtle" color="gray" size="lg" aria-label={text.you}>
          <PersonIcon />
        </ActionIcon>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Label>{user.name}</Menu.Label>
        <Menu.Item onClick={() => goTo('#/profile')}>{text.profile}</Menu.Item>
        <Menu.Item component="a" href="/docs" target="_blank" rel="noreferrer">
          {text.docs}
        </Menu.Item>
        <Menu.Divider />
        <TimezoneItems />
        <Menu.Divider />
        <Menu.Item onClick={() => void signOut()}>{text.signOut}</Menu.Item>
      </Menu.Dropdown>
    </Menu>
  );
}

function AccountMenu({ pages, current }: MenuProps) {
  const text = useTexts(texts);
  const { memberships } = useSession();
  const { accountId, role, choose } = useAccountChoice();
  if (accountId === null) return null;
  const ofAccount = pages.filter((page) => page.for === 'member' || (page.for === 'owner' && role === 'owner'));
  return (
    <>
      {memberships.length > 1 ? (
        <Select
          aria-label={text.chooseAccount}
          data={memberships.map((membership) => ({ value: membership.accountId, label: membership.accountName }))}
          value={accountId}
          onChange={(chosen) => chosen !== null && choose(chosen)}
          allowDeselect={false}
          searchable={memberships.length > 8}
          mb="xs"
        />
      ) : (
        <MenuHeading>{memberships[0]?.accountName ?? text.account}</MenuHeading>
      )}
      <PageLinks pages={ofAccount} current={current} />
    </>
  );
}

function OperatorMenu({ pages, current }: MenuProps) {
  const text = useTexts(texts);
  const { operatorRole } = useSession();
  if (operatorRole === null) return null;
  return (
    <>
      <MenuHeading>{operatorRole === 'operator' ? text.operator : text.auditor}</MenuHeading>
      <PageLinks pages={pages.filter((page) => page.for === 'operator')} current={current} />
    </>
  );
}

function MenuHeading({ children }: { readonly children: ReactNode }) {
  return (
    <Text size="xs" fw={700} c="dimmed" px="sm" pt="sm" pb={4} truncate>
      {children}
    </Text>
  );
}

function PageLinks({ pages, current }: MenuProps) {
  const { language } = useLanguage();
  return pages
    .filter(({ icon }) => icon !== null)
    .map(({ path, title, icon: Icon }) => {
      const isCurrent = current !== null && (current.path === path || current.path === `${path}/:id`);
      return (
        <NavLink
          key={path}
          href={`#${path}`}
          label={title[language]}
          leftSection={Icon === null ? null : <Icon />}
          active={isCurrent}
          aria-current={isCurrent ? 'page' : undefined}
        />
      );
    });
}
