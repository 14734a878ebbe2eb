import { Anchor } from '@mantine/core';
import { defineTexts, useTexts } from '../text/language.tsx';
import { BRANDING } from './branding.ts';
import { SmallText } from './small.ts';

const texts = defineTexts({ support: 'Help:' }, { support: '帮助：' });

/** Where people ask for help, if the operator has set it. */
export function SupportLine() {
  const text = useTexts(texts);
  const { supportAddress } = BRANDING;
  if (supportAddress === null) return null;
  return (
    <SmallText>
      {text.support}{' '}
      <Anchor
        href={supportAddress.startsWith('https:') ? supportAddress : `mailto:${supportAddress}`}
        rel="noreferrer"
        style={{ overflowWrap: 'anywhere' }}
      >
        {supportAddress}
      </Anchor>
    </SmallText>
  );
}
