import { Button, Text } from '@mantine/core';

export const SmallButton = Button.withProps({ size: 'compact-sm', variant: 'default' });

export const SmallText = Text.withProps({ size: 'xs', c: 'dimmed' });

export const DimmedText = Text.withProps({ size: 'sm', c: 'dimmed' });
