import { Tooltip } from '@mantine/core';
import { useRef, useState } from 'react';

interface RevealedProps {
  /** What stands here. */
  readonly text: string;
  /** What it stands for. */
  readonly whole: string;
}

/** A text that says more where the pointer rests, when the keyboard comes to it, and when it is tapped. */
export function Revealed({ text, whole }: RevealedProps) {
  const [isShown, setIsShown] = useState(false);
  const button = useRef<HTMLButtonElement>(null);
  const hide = (): void => setIsShown(false);
  return (
    <>
      <button
        ref={button}
        type="button"
        className="revealed"
        aria-description={whole}
        onClick={() => setIsShown(true)}
        onPointerEnter={() => setIsShown(true)}
        onPointerLeave={({ pointerType }) => pointerType === 'mouse' && hide()}
        onFocus={() => setIsShown(true)}
        onBlur={hide}
        onKeyDown={({ key }) => key === 'Escape' && hide()}
      >
        {text}
      </button>
      {isShown && <Tooltip target={button} opened label={whole} />}
    </>
  );
}
