import { Stack, Tabs } from '@mantine/core';
import { useState } from 'react';
import { CatalogPageFrame } from '../../parts/catalog/catalog-page.tsx';
import { usePlaceQuery } from '../../parts/location.ts';
import { useMayOperate } from '../../session/may-operate.ts';
import { useTexts } from '../../text/language.tsx';
import { CatalogEditor } from './editor.tsx';
import { PriceSourceSection } from './price-source.tsx';
import { RevisionHistory, RevisionState } from './revisions.tsx';
import { revisionTexts } from './texts.ts';

const TABS = ['history', 'text'] as const;

export function CatalogPage() {
  const text = useTexts(revisionTexts);
  const mayOperate = useMayOperate();
  const [query, setQuery] = usePlaceQuery();
  const tab = TABS.find((name) => name === query.tab) ?? 'history';
  const [hasShownText, setHasShownText] = useState(false);
  if (tab === 'text' && !hasShownText) setHasShownText(true);
  return (
    <CatalogPageFrame mayOperate={mayOperate} lead={text.lead}>
      {(catalog) => (
        // Kept mounted: a draft of the text must not be lost by a look at the history.
        <Tabs value={tab} onChange={(chosen) => setQuery({ tab: chosen })}>
          <Tabs.List mb="md">
            {TABS.map((name) => (
              <Tabs.Tab key={name} value={name}>
                {text.tabs[name]}
              </Tabs.Tab>
            ))}
          </Tabs.List>
          <Tabs.Panel value="history">
            <Stack>
              <RevisionState catalog={catalog} />
              <PriceSourceSection mayOperate={mayOperate} />
              <RevisionHistory catalog={catalog} />
            </Stack>
          </Tabs.Panel>
          <Tabs.Panel value="text">{hasShownText && <CatalogEditor catalog={catalog} />}</Tabs.Panel>
        </Tabs>
      )}
    </CatalogPageFrame>
  );
}
