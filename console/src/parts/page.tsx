import { Group, Stack, Text, Title } from '@mantine/core';
import { useDocumentTitle } from '@mantine/hooks';
import { createContext, type ReactNode, useContext } from 'react';
import { BRANDING } from './branding.ts';

/** The menu title of the current page. */
export const PageTitle = createContext('');

export const usePageTitle = (): string => useContext(PageTitle);

interface PageProps {
  /** By default the menu title. */
  readonly title?: string;
  readonly lead?: ReactNode;
  readonly actions?: ReactNode;
  readonly children: ReactNode;
}

export function Page({ title: own, lead, actions, children }: PageProps) {
  const ofMenu = usePageTitle();
  const title = own ?? ofMenu;
  useDocumentTitle(`${title} · ${BRANDING.name}`);
  return (
    <Stack gap="lg">
      <Group justify="space-between" align="flex-start" gap="sm" className="page-head">
        <div>
          <Title order={1} size="h2">
            {title}
          </Title>
          {lead !== undefined && (
            <Text c="dimmed" mt={4} maw={720}>
              {lead}
            </Text>
          )}
        </div>
        {actions !== undefined && <Group gap="xs">{actions}</Group>}
      </Group>
      {children}
    </Stack>
  );
}
