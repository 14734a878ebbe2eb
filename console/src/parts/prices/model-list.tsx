import { Anchor, Badge, Card, Group, SimpleGrid, Stack, Table, Text, TextInput, Title } from '@mantine/core';
import type { ReactNode } from 'react';
import type { OwnModel } from '../../api/types.ts';
import { useFormat } from '../../text/format.ts';
import { useTexts } from '../../text/language.tsx';
import { ownValue } from '../../text/own-value.ts';
import { atPriceFactor, LIST_PRICE_BASIS_POINTS, percentOf } from '../basis-points.ts';
import { useOperationName } from '../calls/operation-name.ts';
import { usePlaceSearch } from '../filters.tsx';
import { hashOf } from '../location.ts';
import { EmptyState } from '../notices.tsx';
import { DimmedText, SmallText } from '../small.ts';
import { PeakHours } from './peak-hours.tsx';
import { isTerm, priceLines } from './price-lines.ts';
import { priceTexts } from './texts.ts';

/** Operations of the playground. */
const TRIED = ['chat', 'messages'];

/** A model with its prices, for its account or for everybody. */
export type ListedModel = Omit<OwnModel, 'isInPlan'> & Partial<Pick<OwnModel, 'isInPlan'>>;

interface ModelListProps {
  readonly models: readonly ListedModel[];
  /** The account's share of the list prices, in basis points. */
  readonly priceFactor: number;
  /** Whether the reader can try models. */
  readonly canTry: boolean;
}

/** Models with their prices, and a search. */
export function ModelList({ models, priceFactor, canTry }: ModelListProps) {
  const text = useTexts(priceTexts);
  const [search, setSearch] = usePlaceSearch();
  const found = models.filter((model) => fits(model, search.trim().toLowerCase()));
  return (
    <>
      <Group align="flex-end" className="no-print">
        <TextInput
          label={text.search}
          placeholder={text.searchHint}
          value={search}
          onChange={({ currentTarget }) => setSearch(currentTarget.value)}
          w={280}
        />
        {priceFactor !== LIST_PRICE_BASIS_POINTS && <Text>{text.factor(`${percentOf(priceFactor)}%`)}</Text>}
      </Group>
      {found.length === 0 && <EmptyState title={text.nothing} />}
      <SimpleGrid cols={{ base: 1, lg: 2 }}>
        {found.map((model) => (
          <ModelCard key={model.id} model={model} priceFactor={priceFactor} canTry={canTry} />
        ))}
      </SimpleGrid>
    </>
  );
}

function fits({ id, displayName, aliases, operations }: ListedModel, wanted: string): boolean {
  return [id, displayName, ...aliases, ...operations].some((each) => each.toLowerCase().includes(wanted));
}

type ModelCardProps = Omit<ModelListProps, 'models'> & { readonly model: ListedModel };

function ModelCard({ model, priceFactor, canTry }: ModelCardProps) {
  const text = useTexts(priceTexts);
  const format = useFormat();
  const operationName = useOperationName();
  const {
    id,
    displayName,
    aliases,
    operations,
    contextTokens,
    outputTokens,
    timeOfDay,
    price,
    isInPlan = false,
  } = model;
  return (
    <Card withBorder component="section" aria-label={displayName}>
      <Stack gap="sm">
        <Group justify="space-between" align="flex-start">
          <div>
            <Title order={2} size="h4">
              {displayName}
            </Title>
            <DimmedText>
              {id}
              {aliases.length > 0 && ` · ${text.aliases(aliases.join(', '))}`}
            </DimmedText>
          </div>
          <Group gap="xs">
            {canTry && TRIED.some((each) => operations.includes(each)) && (
              <Anchor href={hashOf('/playground', { model: id })} aria-label={text.tryModel(displayName)}>
                {text.try}
              </Anchor>
            )}
            {isInPlan && <Badge color="teal">{text.inPlan}</Badge>}
            {timeOfDay !== null && (
              <Badge color={price.rule === 'peak' ? 'orange' : 'cyan'}>{text.now[price.rule]}</Badge>
            )}
          </Group>
        </Group>
        <Group gap="lg">
          <Named name={text.operations}>{operations.map(operationName).join(text.comma)}</Named>
          {contextTokens !== null && <Named name={text.context}>{text.tokens(format.exactCount(contextTokens))}</Named>}
          {outputTokens !== null && <Named name={text.output}>{text.tokens(format.exactCount(outputTokens))}</Named>}
        </Group>
        {timeOfDay !== null && <PeakHours timeOfDay={timeOfDay} />}
        <PriceTable
          priceFactor={priceFactor}
          lists={
            timeOfDay === null
              ? [{ name: text.base, price }]
              : [
                  { name: text.peak, price: timeOfDay.peak },
                  { name: text.offPeak, price: timeOfDay.offPeak },
                ]
          }
        />
      </Stack>
    </Card>
  );
}

function Named({ name, children }: { readonly name: string; readonly children: string }) {
  return (
    <div>
      <SmallText>{name}</SmallText>
      <Text size="sm">{children}</Text>
    </div>
  );
}

interface PriceTableProps {
  readonly lists: readonly { readonly name: string; readonly price: OwnModel['price'] }[];
  readonly priceFactor: number;
}

/** Price lists as columns, with a row for each price in any of them. */
function PriceTable({ lists, priceFactor }: PriceTableProps) {
  const text = useTexts(priceTexts);
  const columns = lists.map(({ name, price }) => ({
    name,
    values: new Map(priceLines(price).map(({ path, value }) => [path.join('\n'), value])),
  }));
  const paths = [...new Set(columns.flatMap(({ values }) => [...values.keys()]))];
  const hasTokenPrices = paths.some((path) => path.endsWith('YuanPerMillion'));
  return (
    <Table verticalSpacing={4}>
      <Table.Thead>
        <Table.Tr>
          <Table.Th fw={400}>{hasTokenPrices ? text.pricedTokens : text.priced}</Table.Th>
          {columns.map(({ name }) => (
            <Table.Th key={name} ta="right">
              {name}
            </Table.Th>
          ))}
        </Table.Tr>
      </Table.Thead>
      <Table.Tbody>
        {paths.map((path) => (
          <Table.Tr key={path}>
            <Table.Td>{nameOf(path.split('\n'), text)}</Table.Td>
            {columns.map(({ name, values }) => (
              <Table.Td key={name} ta="right" className="figure">
                {shownValue(values.get(path), isTerm(path.split('\n')[0]))}
              </Table.Td>
            ))}
          </Table.Tr>
        ))}
      </Table.Tbody>
    </Table>
  );

  function shownValue(value: string | undefined, isFactor: boolean): ReactNode {
    if (value === undefined) return '–';
    return isFactor ? text.times(value) : <Price list={value} priceFactor={priceFactor} />;
  }
}

function Price({ list, priceFactor }: { readonly list: string; readonly priceFactor: number }) {
  const text = useTexts(priceTexts);
  const format = useFormat();
  const own = atPriceFactor(list, priceFactor);
  return (
    <>
      {format.yuan(own)}
      {own !== list && <SmallText>{text.listPrice(format.yuan(list))}</SmallText>}
    </>
  );
}

/** The label of a price path, such as `above`, `128k`, `inputYuanPerMillion`. */
function nameOf(path: readonly string[], text: ReturnType<typeof useTexts<(typeof priceTexts)['en']>>): string {
  const words = text.prices as Readonly<Record<string, string>>;
  const [first = '', ...rest] = path;
  if (first === 'thinking') return `${text.thinking} · ${nameOf(rest, text)}`;
  if (first === 'above' || first === 'outputAbove') {
    const [length = '', ...below] = rest;
    return `${text[first](length)} · ${nameOf(below, text)}`;
  }
  if (isTerm(first)) return `${text.terms[first]} ${rest.join(' ')}`;
  const qualities: Readonly<Record<string, string>> = text.qualities;
  return [ownValue(words, first) ?? first, ...rest.map((name) => ownValue(qualities, name) ?? name)].join(' · ');
}
