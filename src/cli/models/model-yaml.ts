import { stringify } from 'yaml';
import type { ModelDraft, ModelList } from '../../config/price-source/model-list.ts';
import { escapeText } from '../../lib/plain-text.ts';

/** A provider in the configuration that serves the models. */
export interface RouteTo {
  readonly name: string;
  readonly protocol: string;
}

export function modelsYaml(
  { models, notPriced }: ModelList,
  providers: readonly RouteTo[],
  hasMargin: boolean,
): string {
  const texts = models.map((model) => modelText(model, providers, hasMargin));
  const none = notPriced.map(({ id, why }) => `# ${escapeText(`${id}: ${why}`)}\n`);
  return [
    'models:\n',
    ...(texts.length === 0 ? ['  {}\n'] : texts),
    ...(none.length === 0 ? [] : ['\n# Left out, because a price is missing or cannot be expressed:\n', ...none]),
  ].join('');
}

function modelText(model: ModelDraft, providers: readonly RouteTo[], hasMargin: boolean): string {
  const { id, operations, contextLength, maxOutputTokens, price, cost, unpriced, notes } = model;
  const text = stringify(
    {
      [id]: {
        ...(contextLength !== null && { contextLength }),
        ...(maxOutputTokens !== null && { maxOutputTokens }),
        operations,
        price,
        routes: providers
          .filter(({ protocol }) => protocol === 'chat' || operations.includes(protocol))
          .map(({ name }) => ({ provider: name, model: id, ...(hasMargin && { cost }) })),
      },
    },
    { lineWidth: 0, aliasDuplicateObjects: false },
  );
  const comments = [...notes, ...(unpriced.length === 0 ? [] : [`Without a price here: ${unpriced.join(', ')}`])];
  return comments.map((comment) => `  # ${escapeText(comment)}\n`).join('') + text.replaceAll(/^(?=.)/gm, '  ');
}
