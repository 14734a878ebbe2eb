import { type Fields, fieldsOf, listOf, textOf, textsOf } from '../../parts/catalog/catalog-value.ts';
import type { CatalogEdit } from '../../parts/catalog/edits.ts';
import { edited, editedMembers, filled, numberOrText } from '../../parts/catalog/edits.ts';
import {
  type PriceDraft,
  type PriceList,
  priceDraft,
  priceEdits,
  withPrices,
} from '../../parts/catalog/price-lists.ts';

export const OPERATIONS = [
  'chat',
  'messages',
  'responses',
  'compact',
  'embeddings',
  'rerank',
  'images.generate',
  'images.edit',
] as const;

export const TEXT_MEMBERS = ['displayName', 'manufacturer', 'contextLength', 'maxOutputTokens', 'description'] as const;
type TextMember = (typeof TEXT_MEMBERS)[number];

export interface RouteDraft {
  /** Index in the text; `null` if the route is new. */
  readonly index: number | null;
  readonly provider: string;
  readonly model: string;
  readonly priority: string;
  readonly weight: string;
}

export const emptyRoute: RouteDraft = { index: null, provider: '', model: '', priority: '', weight: '' };

export interface ModelDraft extends Readonly<Record<TextMember, string>> {
  readonly name: string;
  readonly aliases: readonly string[];
  readonly operations: readonly string[];
  readonly isListed: boolean;
  readonly routes: readonly RouteDraft[];
  /** Amounts of the list in force. */
  readonly prices: PriceDraft;
}

export function modelDraft(name: string, fields: Fields, { fields: price }: PriceList): ModelDraft {
  const texts = Object.fromEntries(TEXT_MEMBERS.map((member) => [member, textOf(fields[member])])) as Record<
    TextMember,
    string
  >;
  return {
    ...texts,
    name,
    aliases: textsOf(fields.aliases),
    operations: textsOf(fields.operations),
    isListed: textOf(fields.listed) !== 'false',
    routes: listOf(fields.routes).map((route, index) => routeDraft(fieldsOf(route), index)),
    prices: priceDraft(price),
  };
}

function routeDraft({ provider, model, priority, weight }: Fields, index: number): RouteDraft {
  return {
    index,
    provider: textOf(provider),
    model: textOf(model),
    priority: textOf(priority),
    weight: textOf(weight),
  };
}

/** The edits of a model, whose price list in force is at `list`. */
export function modelEdits(before: ModelDraft, after: ModelDraft, list: Pick<PriceList, 'path'>): CatalogEdit[] {
  const path = ['models', after.name];
  const texts = (draft: ModelDraft) => Object.fromEntries(TEXT_MEMBERS.map((member) => [member, draft[member]]));
  const listed = (draft: ModelDraft) => (draft.isListed ? undefined : false);
  return [
    ...editedMembers(path, texts(before), texts(after)),
    ...editedMembers(path, lists(before), lists(after)),
    ...edited([...path, 'listed'], listed(before), listed(after)),
    ...routeEdits([...path, 'routes'], before.routes, after.routes),
    ...priceEdits([...path, 'price', ...list.path], before.prices, after.prices),
  ];
}

const lists = ({ aliases, operations }: ModelDraft) => ({ aliases, operations });

/** Removals come last, from the end, so that the indexes of the others hold. */
function routeEdits(
  path: CatalogEdit['path'],
  before: readonly RouteDraft[],
  after: readonly RouteDraft[],
): CatalogEdit[] {
  const added = after.filter(({ index }) => index === null);
  const removed = before.filter(({ index }) => !after.some((route) => route.index === index));
  return [
    ...after.flatMap((route) => {
      const former = before.find(({ index }) => index === route.index);
      if (route.index === null || former === undefined) return [];
      return editedMembers([...path, route.index], routeMembers(former), routeMembers(route));
    }),
    ...added.map((route, at) => ({ path: [...path, before.length + at], value: filled(routeMembers(route)) })),
    ...removed.reverse().map(({ index }) => ({ path: [...path, index!] })),
  ];
}

function routeMembers({ provider, model, priority, weight }: RouteDraft) {
  return { provider, model, priority: numberOrText(priority), weight: numberOrText(weight) };
}

/** A new model. A copy starts from all that the original has. */
export function newModel(draft: ModelDraft, copied: CopiedModel | null): CatalogEdit[] {
  const path = ['models', draft.name];
  if (copied === null) {
    const { name: _name, isListed, routes, prices, ...members } = draft;
    const value = {
      ...filled(members),
      ...(!isListed && { listed: false }),
      price: withPrices({}, prices),
      routes: routes.map((route) => filled(routeMembers(route))),
    };
    return [{ path, value }];
  }
  const { aliases: _aliases, ...value } = copied.fields;
  return [{ path, value }, ...modelEdits({ ...copied.draft, aliases: [] }, draft, copied.list)];
}

export interface CopiedModel {
  /** With numbers as in the file. */
  readonly fields: Fields;
  readonly draft: ModelDraft;
  readonly list: PriceList;
}
