import { Button, Text } from '@mantine/core';

/** A button in a row of a table, or beside the title of a section. */
export const SmallButton = Button.withProps({ size: 'compact-sm', variant: 'default' });

/** What says more of a figure or a cell, below it. */
export const SmallText = Text.withProps({ size: 'xs', c: 'dimmed' });

/** What matters less than what stands around it. */
export const DimmedText = Text.withProps({ size: 'sm', c: 'dimmed' });
