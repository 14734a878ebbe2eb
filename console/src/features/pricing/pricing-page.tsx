import { Anchor, Box, Button, Container, Group } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { errorOf, unreachable } from '../../api/client.ts';
import { againWhileAway } from '../../api/queries.ts';
import { LanguageMenu, Logo, ThemeButton } from '../../layout/preferences.tsx';
import { LIST_PRICE_BASIS_POINTS } from '../../parts/basis-points.ts';
import { ReadState } from '../../parts/notices.tsx';
import { Page } from '../../parts/page.tsx';
import { type ListedModel, ModelList } from '../../parts/prices/model-list.tsx';
import { SupportLine } from '../../parts/support-line.tsx';
import { useTexts } from '../../text/language.tsx';
import { pricingTexts } from './texts.ts';

/** The listed models with their prices, for everybody. */
export function PricingPage() {
  const text = useTexts(pricingTexts);
  const models = useQuery({
    queryKey: ['prices'],
    queryFn: readPrices,
    refetchInterval: againWhileAway(false),
  });
  return (
    <Container size="xl" py="md">
      <Group component="header" justify="space-between" mb="lg" wrap="nowrap">
        <Logo />
        <Group gap={4} wrap="nowrap">
          <LanguageMenu />
          <ThemeButton />
          <Anchor href="/console" ml="xs">
            {text.signIn}
          </Anchor>
        </Group>
      </Group>
      <Box component="main">
        <Page
          title={text.title}
          lead={text.lead}
          actions={
            <Button variant="default" className="no-print" onClick={() => window.print()}>
              {text.print}
            </Button>
          }
        >
          <ReadState read={models} />
          {models.data !== undefined && (
            <ModelList models={models.data} priceFactor={LIST_PRICE_BASIS_POINTS} canTry={false} />
          )}
        </Page>
        <SupportLine />
      </Box>
    </Container>
  );
}

async function readPrices({ signal }: { readonly signal: AbortSignal }): Promise<readonly ListedModel[]> {
  const response = await fetch('/pricing/models', { signal, credentials: 'omit' }).catch(() => {
    throw unreachable();
  });
  if (!response.ok) throw await errorOf(response);
  const { data } = (await response.json()) as { readonly data: readonly ListedModel[] };
  return data;
}
