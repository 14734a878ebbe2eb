import { useFormat } from '../../text/format.ts';
import { useTexts } from '../../text/language.tsx';
import { Yuan } from '../figures.tsx';
import { SmallText } from '../small.ts';
import { pageTexts } from '../texts.ts';
import { type MarginSums, shownMargin } from './shown-margin.ts';

const marginTexts = pageTexts(
  {
    partly: (amount: string) => `of ${amount}; other costs are unknown`,
    unknown: 'cost unknown',
    noRevenue: 'no revenue',
  },
  {
    partly: (amount: string) => `仅 ${amount} 的扣费成本已知`,
    unknown: '成本未知',
    noRevenue: '无收入',
  },
);

/** A margin as a percentage. `undefined`: no calls, or not loaded. A loss has a minus sign and is red. */
export function MarginShare({ sums }: { readonly sums: MarginSums | undefined }) {
  const text = useTexts(marginTexts);
  const format = useFormat();
  if (sums === undefined) return '–';
  const margin = shownMargin(sums);
  if (!('basisPoints' in margin)) {
    return <SmallText component="span">{text[margin.kind]}</SmallText>;
  }
  const { basisPoints } = margin;
  return (
    <>
      <span className={basisPoints < 0 ? 'figure loss' : 'figure'}>{format.percent(basisPoints / 10_000)}</span>
      {margin.kind === 'partly' && (
        <SmallText component="div">{text.partly(format.yuan(margin.ofYuan, true))}</SmallText>
      )}
    </>
  );
}

/** A margin as an amount; a loss as in `MarginShare`. */
export function MarginYuan({ amount }: { readonly amount: string | null }) {
  return (
    <span className={amount?.startsWith('-') ? 'loss' : undefined}>
      <Yuan amount={amount} isShort />
    </span>
  );
}
