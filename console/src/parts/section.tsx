import { Card, Group, Text, Title } from '@mantine/core';
import type { ReactNode } from 'react';

interface SectionProps {
  readonly title?: string;
  readonly lead?: ReactNode;
  readonly actions?: ReactNode;
  readonly children: ReactNode;
}

export function Section({ title, lead, actions, children }: SectionProps) {
  return (
    <Card withBorder component="section" padding="md">
      {(title !== undefined || actions !== undefined) && (
        <Group justify="space-between" mb="sm" gap="xs">
          <div>
            {title !== undefined && (
              <Title order={2} size="h4">
                {title}
              </Title>
            )}
            {lead !== undefined && (
              <Text c="dimmed" size="sm">
                {lead}
              </Text>
            )}
          </div>
          {actions !== undefined && <Group gap="xs">{actions}</Group>}
        </Group>
      )}
      {children}
    </Card>
  );
}
