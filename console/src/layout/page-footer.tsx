import { Anchor, Group } from '@mantine/core';
import { BRANDING } from '../parts/branding.ts';
import { SmallText } from '../parts/small.ts';
import { SupportLine } from '../parts/support-line.tsx';
import { defineTexts, useTexts } from '../text/language.tsx';

const texts = defineTexts({ prices: 'Prices' }, { prices: '价格' });

/** The support address and the price page, below every page; nothing if the operator has set neither. */
export function PageFooter() {
  const text = useTexts(texts);
  const { supportAddress, hasPricing } = BRANDING;
  if (supportAddress === null && !hasPricing) return null;
  return (
    <Group component="footer" gap="lg" mt="lg">
      {hasPricing && window.location.pathname !== '/pricing' && (
        <SmallText>
          <Anchor href="/pricing">{text.prices}</Anchor>
        </SmallText>
      )}
      <SupportLine />
    </Group>
  );
}
