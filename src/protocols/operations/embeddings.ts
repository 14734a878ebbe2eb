import { embeddingsResponse } from '../chat/embeddings.ts';
import { chatStreamError } from '../chat/errors.ts';
import { chatProtocol } from '../chat/protocol.ts';
import { byTokens } from '../metering/charge-options.ts';
import { estimateRequestTokens } from '../token-estimate/request-size.ts';
import { jsonOperation } from './json-operation.ts';
import { readTexts } from './texts.ts';

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
