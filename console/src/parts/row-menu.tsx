import { ActionIcon, Group, Menu } from '@mantine/core';
import { KebabHorizontalIcon } from '@primer/octicons-react';
import type { ReactNode } from 'react';

export function RowMenu({ label, children }: { readonly label: string; readonly children: ReactNode }) {
  return (
    <Group justify="flex-end">
      <Menu position="bottom-end">
        <Menu.Target>
          <ActionIcon variant="subtle" color="gray" aria-label={label}>
            <KebabHorizontalIcon />
          </ActionIcon>
        </Menu.Target>
        <Menu.Dropdown>{children}</Menu.Dropdown>
      </Menu>
    </Group>
  );
}
