import { Card, Text } from '@mantine/core';
import { type ReactNode, useEffect, useState } from 'react';
import { useFormat } from '../text/format.ts';
import { useTexts } from '../text/language.tsx';
import { useTimezone } from '../text/timezone.tsx';
import { Revealed } from './revealed.tsx';
import { DimmedText } from './small.ts';
import { commonTexts } from './texts.ts';

/** An amount. A rounded amount reveals the exact one on hover, tap and focus. */
export function Yuan({ amount, isShort = false }: { readonly amount: string | null; readonly isShort?: boolean }) {
  const format = useFormat();
  if (amount === null) return <span className="figure">–</span>;
  const shown = format.yuan(amount, isShort);
  const exact = format.yuan(amount);
  return <span className="figure">{shown === exact ? shown : <Revealed text={shown} whole={exact} />}</span>;
}

/** An instant. The tooltip has its time zone and, if it is shown as relative, its date. `null` means never. */
export function Instant({ at, isRelative = false }: { readonly at: string | null; readonly isRelative?: boolean }) {
  const format = useFormat();
  const text = useTexts(commonTexts);
  const { zone } = useTimezone();
  const nowMs = useNowMs();
  if (at === null) return <span>{text.never}</span>;
  return (
    <time dateTime={at} title={`${format.instant(at)} ${zone}`} style={{ whiteSpace: 'nowrap' }}>
      {isRelative ? format.relative(at, nowMs) : format.instant(at)}
    </time>
  );
}

/** The browser's clock, updated at an interval. */
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
  readonly detail?: ReactNode;
  /** The same figure over time. */
  readonly trend?: ReactNode;
}

export function Tile({ label, children, detail, trend }: TileProps) {
  return (
    <Card withBorder padding="md">
      <DimmedText>{label}</DimmedText>
      <Text size="xl" fw={700} component="div" className="figure">
        {children}
      </Text>
      {detail !== undefined && <DimmedText component="div">{detail}</DimmedText>}
      {trend !== undefined && <div style={{ marginTop: 'auto', paddingTop: 8 }}>{trend}</div>}
    </Card>
  );
}
