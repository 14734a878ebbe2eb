import { Progress } from '@mantine/core';
import { toNano } from '../../text/yuan.ts';

interface UsedBarProps {
  /** What of. For screen readers. */
  readonly label: string;
  readonly percent: number;
}

/** The share of a limit that is used. */
export function UsedBar({ label, percent }: UsedBarProps) {
  return <Progress value={percent} mt={6} color={percent >= 90 ? 'red.7' : 'cyan.7'} aria-label={label} />;
}

/** Percentage of a cap that is spent, at most 100. */
export function percentSpent(spentYuan: string, capYuan: string): number {
  const cap = toNano(capYuan);
  return cap === 0n ? 100 : Math.min(100, Number((toNano(spentYuan) * 10_000n) / cap) / 100);
}
