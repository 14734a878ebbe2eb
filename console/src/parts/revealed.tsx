import { Tooltip } from '@mantine/core';
import { useRef, useState } from 'react';

interface RevealedProps {
  readonly text: string;
  readonly whole: string;
}

/** Reveals a longer text on hover, focus and tap. */
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
