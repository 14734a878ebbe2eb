import { ActionIcon, Group, Menu, Text, useComputedColorScheme, useMantineColorScheme } from '@mantine/core';
import { CheckIcon, GlobeIcon, MoonIcon, SunIcon } from '@primer/octicons-react';
import { defineTexts, LANGUAGES, type Language, useLanguage, useTexts } from '../text/language.tsx';

const texts = defineTexts(
  { language: 'Language', dark: 'Dark theme', light: 'Light theme' },
  { language: '语言', dark: '深色主题', light: '浅色主题' },
);

export function Logo() {
  return (
    <Group gap={8} wrap="nowrap">
      <img src="/console/icon.svg" alt="" width={28} height={28} />
      <Text fw={700} size="lg">
        Faregate
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
