import { Button, Collapse } from '@mantine/core';
import { type ReactNode, useState } from 'react';

interface FoldedProps {
  /** The button while the content is folded, and while it is not. */
  readonly more: string;
  readonly less: string;
  readonly isUnfoldedAtFirst?: boolean;
  readonly children: ReactNode;
}

/** Optional fields of a form behind a button. */
export function Folded({ more, less, isUnfoldedAtFirst = false, children }: FoldedProps) {
  const [isUnfolded, setIsUnfolded] = useState(isUnfoldedAtFirst);
  return (
    <>
      <Button
        variant="subtle"
        size="compact-sm"
        style={{ alignSelf: 'flex-start' }}
        aria-expanded={isUnfolded}
        onClick={() => setIsUnfolded(!isUnfolded)}
      >
        {isUnfolded ? less : more}
      </Button>
      <Collapse expanded={isUnfolded}>{children}</Collapse>
    </>
  );
}
