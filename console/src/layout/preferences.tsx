import { ActionIcon, Group, Menu, Text, useComputedColorScheme, useMantineColorScheme } from '@mantine/core';
import { CheckIcon, GlobeIcon, MoonIcon, SunIcon } from '@primer/octicons-react';
import { BRANDING } from '../parts/branding.ts';
import { defineTexts, LANGUAGES, type Language, useLanguage, useTexts } from '../text/language.tsx';
import { TIMEZONE_CHOICES, useTimezone } from '../text/timezone.tsx';

const texts = defineTexts(
  {
    language: 'Language',
    dark: 'Dark theme',
    light: 'Light theme',
    timezone: 'Times are shown in',
    zones: {
      billing: (zone: string) => `${zone} (billing)`,
      browser: (zone: string) => `${zone} (this browser)`,
      utc: (zone: string) => zone,
    },
  },
  {
    language: '语言',
    dark: '深色主题',
    light: '浅色主题',
    timezone: '时间显示时区',
    zones: {
      billing: (zone: string) => `${zone}（计费时区）`,
      browser: (zone: string) => `${zone}（本浏览器）`,
      utc: (zone: string) => zone,
    },
  },
);

export function Logo() {
  const { name, logo } = BRANDING;
  return (
    <Group gap={8} wrap="nowrap">
      <img src={logo} alt="" height={28} style={{ maxWidth: 140, objectFit: 'contain' }} />
      <Text fw={700} size="lg" lineClamp={1}>
        {name}
      </Text>
    </Group>
  );
}

export function LanguageMenu() {
  const text = useTexts(texts);
  const { language, choose } = useLanguage();
  return (
    <Menu position="bottom-end">
      <Menu.Target>
        <ActionIcon variant="subtle" color="gray" size="lg" aria-label={text.language}>
          <GlobeIcon />
        </ActionIcon>
      </Menu.Target>
      <Menu.Dropdown>
        {Object.entries(LANGUAGES).map(([code, name]) => (
          <Menu.Item
            key={code}
            lang={code}
            onClick={() => choose(code as Language)}
            rightSection={code === language ? <CheckIcon /> : null}
          >
            {name}
          </Menu.Item>
        ))}
      </Menu.Dropdown>
    </Menu>
  );
}

export function TimezoneItems() {
  const text = useTexts(texts);
  const { chosen, zones, choose } = useTimezone();
  return (
    <>
      <Menu.Label>{text.timezone}</Menu.Label>
      {TIMEZONE_CHOICES.map((name) => (
        <Menu.Item
          key={name}
          onClick={() => choose(name)}
          aria-current={name === chosen}
          rightSection={name === chosen ? <CheckIcon /> : null}
        >
          {text.zones[name](zones[name])}
        </Menu.Item>
      ))}
    </>
  );
}

export function ThemeButton() {
  const text = useTexts(texts);
  const { setColorScheme } = useMantineColorScheme();
  const scheme = useComputedColorScheme('light');
  return (
    <ActionIcon
      variant="subtle"
      color="gray"
      size="lg"
      aria-label={scheme === 'dark' ? text.light : text.dark}
      onClick={() => setColorScheme(scheme === 'dark' ? 'light' : 'dark')}
    >
      {scheme === 'dark' ? <SunIcon /> : <MoonIcon />}
    </ActionIcon>
  );
}
