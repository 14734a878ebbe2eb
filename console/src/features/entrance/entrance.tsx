import { Card, Center, Group, Stack, Title } from '@mantine/core';
import { useDocumentTitle } from '@mantine/hooks';
import type { ReactNode } from 'react';
import { useRead } from '../../api/queries.ts';
import { LanguageMenu, Logo, ThemeButton } from '../../layout/preferences.tsx';
import { Announcements } from '../../parts/announcements.tsx';
import { BRANDING } from '../../parts/branding.ts';
import { SupportLine } from '../../parts/support-line.tsx';

/** The frame of pages before sign-in. */
export function Entrance({ title, children }: { readonly title: string; readonly children: ReactNode }) {
  const announcements = useRead('GET /account/v1/oidc', {}).data?.announcements ?? [];
  useDocumentTitle(`${title} · ${BRANDING.name}`);
  return (
    <Center mih="100dvh" p="md">
      <Stack w="100%" maw={400} component="main">
        <Group justify="space-between">
          <Logo />
          <Group gap={4}>
            <LanguageMenu />
            <ThemeButton />
          </Group>
        </Group>
        <Announcements announcements={announcements} />
        <Card withBorder padding="lg">
          <Title order={1} size="h3" mb="md">
            {title}
          </Title>
          {children}
        </Card>
        <SupportLine />
      </Stack>
    </Center>
  );
}
