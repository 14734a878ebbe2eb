import { Text } from '@mantine/core';
import type { ReactNode } from 'react';
import { SmallText } from './small.ts';

interface TwoLinesProps {
  readonly first: ReactNode;
  readonly second: ReactNode;
  /** Shows the first line in bold, as the name of the item. */
  readonly isName?: boolean;
}

export function TwoLines({ first, second, isName = false }: TwoLinesProps) {
  return (
    <>
      <Text size="sm" {...(isName && { fw: 600 })}>
        {first}
      </Text>
      <SmallText>{second}</SmallText>
    </>
  );
}
