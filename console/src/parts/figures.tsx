import { Card, Text } from '@mantine/core';
import { type ReactNode, useEffect, useState } from 'react';
import { useFormat } from '../text/format.ts';
import { useTexts } from '../text/language.tsx';
import { commonTexts } from './texts.ts';

/** An amount; a short one shows all of it where the pointer rests. */
export function Yuan({ amount, isShort = false }: { readonly amount: string | null; readonly isShort?: boolean }) {
  const format = useFormat();
  if (amount === null) return <span className="figure">–</span>;
  return (
    <span className="figure" title={isShort ? format.yuan(amount) : undefined}>
      {format.yuan(amount, isShort)}
    </span>
  );
}

/** An instant; a relative one shows the date where the pointer rests. `null`: never. */
export function Instant({ at, isRelative = false }: { readonly at: string | null; readonly isRelative?: boolean }) {
  const format = useFormat();
  const text = useTexts(commonTexts);
  const nowMs = useNowMs();
  if (at === null) return <span>{text.never}</span>;
  return (
    <time dateTime={at} title={format.instant(at)} style={{ whiteSpace: 'nowrap' }}>
      {isRelative ? format.relative(at, nowMs) : format.instant(at)}
    </time>
  );
}

/** The time by the clock of the browser, again every half minute, or as often as is wanted. */
export function useNowMs(everyMs = 30_000): number {
  const [nowMs, setNowMs] = useState(() => Date.now());
  useEffect(() => {
    const timer = setInterval(() => setNowMs(Date.now()), everyMs);
    return () => clearInterval(timer);
  }, [everyMs]);
  return nowMs;
}

interface TileProps {
  readonly label: string;
  readonly children: ReactNode;
  /** A line below the figure. */
  readonly detail?: ReactNode;
}

/** One figure that people look for. */
export function Tile({ label, children, detail }: TileProps) {
  return (
    <Card withBorder padding="md">
      <Text size="sm" c="dimmed">
        {label}
      </Text>
      <Text size="xl" fw={700} component="div" className="figure">
        {children}
      </Text>
      {detail !== undefined && (
        <Text size="sm" c="dimmed" component="div">
          {detail}
        </Text>
      )}
    </Card>
  );
}
