import { makerOf } from '../../src/protocols/translation/carriers.ts';
import { PLAIN_CHAT, PLAIN_MESSAGES } from '../../src/protocols/translation/dialect.ts';
import type { ProviderFormName } from '../../src/protocols/translation/pairs.ts';
import type { TranslationTarget } from '../../src/protocols/translation/translated-request.ts';

/** A request that a client really sent, an answer to it, and how both are translated. */
export interface Transcript {
  readonly client: string;
  readonly request: { readonly model: string };
  readonly providerRequest: object;
  readonly leftOut: readonly string[];
  readonly added: readonly string[];
  readonly providerStream: readonly string[];
  readonly clientStream: readonly string[];
}

/** The providers of translated models in `npm run agents`, which wrote the reasoning in the transcripts. */
export function targetOf(form: ProviderFormName): TranslationTarget {
  const common = { maker: makerOf(`only-${form}`), outputTokensMax: 64_000 };
  return form === 'chat'
    ? { ...common, form, dialect: { ...PLAIN_CHAT, reasoning: 'thinking', replay: 'reasoning_content' } }
    : { ...common, form, dialect: { ...PLAIN_MESSAGES, thinking: 'adaptive', promptCache: 'auto' } };
}
