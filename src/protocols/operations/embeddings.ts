import type { JsonReader } from '../../lib/json/json-reader.ts';
import { embeddingsResponse } from '../chat/embeddings.ts';
import { chatStreamError } from '../chat/errors.ts';
import { chatProtocol } from '../chat/protocol.ts';
import { byTokens } from '../metering/charge-options.ts';
import { estimateRequestTokens } from '../token-estimate/request-size.ts';
import { jsonOperation } from './json-operation.ts';

/** Embeddings (contract 4.2). The input is one text or several, each as a string or a list of tokens. */
export const embeddings = jsonOperation({
  name: 'embeddings',
  protocol: chatProtocol,
  upstreamPath: '/embeddings',
  streamError: chatStreamError,
  charge: [byTokens(['input'])],
  catalogEntry: null,
  countedAs: null,
  isAlwaysAwaited: false,
  reading: 'scans',
  readRequest(fields) {
    const model = fields.requiredText('model');
    fields.requireKind('input', ['string', 'array']);
    const input = fields.member('input')!;
    const { inputs, numbers } = readTexts(fields.reader(input.valueStart));
    return {
      model,
      inputTokensEstimate: Math.max(estimateRequestTokens(fields.bytes, fields.longValues), numbers),
      demand: { inputs, outputTokensLimit: 0, thinkingTokens: 0, moreOutputTokens: 0 },
      details: null,
    };
  },
  response: () => embeddingsResponse,
});

function readTexts(reader: JsonReader): { inputs: number; numbers: number } {
  let texts = 0;
  let numbers = 0;
  const { kind } = reader;
  if (kind === 'array') {
    for (reader.enter(); reader.nextItem(); ) {
      const item = reader.kind;
      if (item === 'number') numbers++;
      else texts++;
      if (item === 'array') for (reader.enter(); reader.nextItem(); ) if (reader.kind === 'number') numbers++;
    }
  }
  // Numbers directly in the array are the tokens of a single text.
  return { inputs: Math.max(texts, 1), numbers };
}
