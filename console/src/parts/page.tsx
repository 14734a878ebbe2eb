import { Group, Stack, Text, Title } from '@mantine/core';
import { useDocumentTitle } from '@mantine/hooks';
import { createContext, type ReactNode, useContext } from 'react';

/** What the page that is shown is called in the menu. */
export const PageTitle = createContext('');

export const usePageTitle = (): string => useContext(PageTitle);

interface PageProps {
  /** What is shown, where that is one of several; otherwise the title is that of the menu. */
  readonly title?: string;
  /** A sentence on what the page is for. */
  readonly lead?: ReactNode;
  /** Buttons at the right of the title. */
  readonly actions?: ReactNode;
  readonly children: ReactNode;
}

/** A page: its title, what can be done with all of it, and its content. */
export function Page({ title: own, lead, actions, children }: PageProps) {
  const ofMenu = usePageTitle();
  const title = own ?? ofMenu;
  useDocumentTitle(`${title} · Faregate`);
  return (
    <Stack gap="lg">
      <Group justify="space-between" align="flex-start" gap="sm">
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
