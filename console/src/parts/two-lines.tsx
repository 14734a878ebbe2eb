import { Text } from '@mantine/core';
import type { ReactNode } from 'react';
import { SmallText } from './small.ts';

interface TwoLinesProps {
  readonly first: ReactNode;
  readonly second: ReactNode;
  /** The first is what people know the item by. */
  readonly isName?: boolean;
}

/** A cell of a table that says more of its value on a second line. */
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
