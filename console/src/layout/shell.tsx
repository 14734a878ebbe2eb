import { ActionIcon, AppShell, Burger, Group, Menu, ScrollArea } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { PersonIcon } from '@primer/octicons-react';
import { type ReactNode, useEffect, useRef } from 'react';
import { Announcements } from '../parts/announcements.tsx';
import type { LoadedLater } from '../parts/loaded-later.tsx';
import { goTo, usePlace } from '../parts/location.ts';
import { DimmedText } from '../parts/small.ts';
import { SupportLine } from '../parts/support-line.tsx';
import { useIsPhone } from '../parts/use-is-phone.ts';
import { useSession } from '../session/session.tsx';
import { defineTexts, useTexts } from '../text/language.tsx';
import { useTimezone } from '../text/timezone.tsx';
import { type MenuProps, PageMenu } from './page-menu.tsx';
import { PaletteButton, type PaletteDialogProps } from './palette-button.tsx';
import { LanguageMenu, Logo, ThemeButton, TimezoneItems } from './preferences.tsx';
import { useScrollOfEntries } from './use-scroll.ts';

const texts = defineTexts(
  {
    skip: 'Skip to the content',
    menu: 'Menu',
    you: 'You',
    profile: 'Your profile',
    docs: 'API documentation',
    signOut: 'Sign out',
    zones: (instants: string, days: string) => `Times are those of ${instants}; days and months are those of ${days}.`,
  },
  {
    skip: '跳到内容',
    menu: '菜单',
    you: '我',
    profile: '个人资料',
    docs: 'API 文档',
    signOut: '退出登录',
    zones: (instants: string, days: string) => `时间按 ${instants} 显示；日期、月份按 ${days} 计算。`,
  },
);

interface ShellProps extends MenuProps {
  readonly palette: LoadedLater<PaletteDialogProps>;
  readonly children: ReactNode;
}

export function Shell({ palette, children, ...menu }: ShellProps) {
  const text = useTexts(texts);
  const { path } = usePlace();
  const { announcements } = useSession();
  const [isOpen, { toggle, close }] = useDisclosure(false);
  // biome-ignore lint/correctness/useExhaustiveDependencies: navigation closes the menu
  useEffect(close, [path, close]);
  useFocusOfPage(path);
  useScrollOfEntries();
  const isPhone = useIsPhone();
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
            <PaletteButton palette={palette} />
            <LanguageMenu />
            <ThemeButton />
            <PersonMenu />
          </Group>
        </Group>
      </AppShell.Header>
      {/* The closed menu is only off-screen, so `inert` excludes its links from keyboard focus. */}
      <AppShell.Navbar aria-label={text.menu} inert={isPhone && !isOpen}>
        <AppShell.Section grow component={ScrollArea} p="xs">
          <PageMenu {...menu} isShown={isOpen || !isPhone} />
        </AppShell.Section>
      </AppShell.Navbar>
      <AppShell.Main id="content" tabIndex={-1}>
        <Announcements announcements={announcements} />
        {children}
        <Zones />
        <SupportLine />
      </AppShell.Main>
    </AppShell>
  );
}

/** Names the display and the billing time zone if they differ. */
function Zones() {
  const text = useTexts(texts);
  const { zone, zones, differs } = useTimezone();
  return differs ? <DimmedText mt="md">{text.zones(zone, zones.billing)}</DimmedText> : null;
}

/** Moves focus to the content after navigation, for keyboards and screen readers, unless the page has focused a field. */
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
