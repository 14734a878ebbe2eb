import type { OwnModel } from '../../api/types.ts';
import type { Answer, CalledOperation } from '../../parts/calling/run-call.ts';

/** An image as a data URL, which is how both protocols accept images without a server that stores them. */
export interface AttachedImage {
  readonly id: number;
  readonly name: string;
  readonly dataUrl: string;
}

/** What the user has said, and the response to it. */
export interface Turn {
  readonly id: number;
  readonly prompt: string;
  readonly images: readonly AttachedImage[];
  readonly answer: Answer;
}

export interface Settings {
  readonly system: string;
  /** As entered; empty: the default of the model. */
  readonly temperature: string;
  /** As entered; empty: `usualOutputTokens`. */
  readonly outputTokens: string;
}

export const NO_SETTINGS: Settings = { system: '', temperature: '', outputTokens: '' };

type Callee = Pick<OwnModel, 'id' | 'outputTokens'>;

const OUTPUT_TOKENS_USUAL = 2048;
const TEMPERATURE_MAX = 2;

/** The limit if none is entered. One is always sent, because a call without one reserves the cost of the longest response. */
export function usualOutputTokens({ outputTokens }: Callee): number {
  return Math.min(OUTPUT_TOKENS_USUAL, outputTokens ?? OUTPUT_TOKENS_USUAL);
}

export function isTemperature(text: string): boolean {
  return text === '' || (/^\d(?:\.\d{1,3})?$/.test(text) && Number(text) <= TEMPERATURE_MAX);
}

export type Said = Pick<Turn, 'prompt' | 'images'>;

/** Content of a message, in either protocol. */
type Content = string | readonly object[];

/** The body of the next call: all turns that have a response, then what the user says now. */
export function bodyOf(
  operation: CalledOperation,
  model: Callee,
  { system, temperature, outputTokens }: Settings,
  turns: readonly Turn[],
  said: Said,
): object {
  const contentOf = operation === 'chat' ? chatContent : messagesContent;
  const messages = [
    ...turns
      .filter(({ answer }) => answer.text !== '')
      .flatMap((turn) => [
        { role: 'user', content: contentOf(turn) },
        { role: 'assistant', content: turn.answer.text },
      ]),
    { role: 'user', content: contentOf(said) },
  ];
  const instructions = system.trim();
  return {
    model: model.id,
    ...(operation === 'messages' && instructions !== '' && { system: instructions }),
    messages:
      operation === 'chat' && instructions !== '' ? [{ role: 'system', content: instructions }, ...messages] : messages,
    max_tokens: outputTokens === '' ? usualOutputTokens(model) : Number(outputTokens),
    ...(temperature !== '' && { temperature: Number(temperature) }),
    stream: true,
  };
}

function chatContent({ prompt, images }: Said): Content {
  if (images.length === 0) return prompt;
  const shown = images.map(({ dataUrl }) => ({ type: 'image_url', image_url: { url: dataUrl } }));
  return [...shown, ...textPart(prompt)];
}

function messagesContent({ prompt, images }: Said): Content {
  if (images.length === 0) return prompt;
  const shown = images.map(({ dataUrl }) => {
    const [head = '', data = ''] = dataUrl.split(';base64,');
    return { type: 'image', source: { type: 'base64', media_type: head.slice('data:'.length), data } };
  });
  return [...shown, ...textPart(prompt)];
}

/** A message with images may have no text; an empty text block would be refused. */
function textPart(prompt: string): object[] {
  return prompt === '' ? [] : [{ type: 'text', text: prompt }];
}
