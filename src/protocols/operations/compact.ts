import { invalidRequest } from '../../errors/gateway-error.ts';
import { chatProtocol } from '../chat/protocol.ts';
import { byTokens } from '../metering/charge-options.ts';
import { compactionResponse } from '../responses/compaction.ts';
import { typedStreamError } from '../responses/errors.ts';
import { checkInput } from '../responses/input.ts';
import { responsesPlanHeaders } from '../responses/plan-headers.ts';
import { RESPONSES_TABLE } from '../responses/state-references.ts';
import { continuationKeysOf } from './continuation-keys.ts';
import { jsonOperation } from './json-operation.ts';

const CACHE_KEY_CHARS_MAX = 64;

/** Compaction of a conversation (contract 2.1, 4.3). It is never a stream. */
export const compact = jsonOperation({
  name: 'compact',
  protocol: chatProtocol,
  upstreamPath: '/responses/compact',
  streamError: typedStreamError,
  planHeaders: responsesPlanHeaders,
  charge: [byTokens(['input', 'output'])],
  catalogEntry: { interfaceId: 'RESPONSES', operationId: 'RESPONSES_COMPACT' },
  countedAs: null,
  isAlwaysAwaited: false,
  reading: 'parses',
  hasSessions: true,
  readRequest(fields, asked) {
    if (fields.member('model') === undefined) {
      throw invalidRequest(
        'The field "model" is required. It may be null if the request continues an earlier call.',
        'model',
      );
    }
    const model = fields.has('model') ? fields.requiredText('model') : null;
    checkInput(fields.wholeValue('input'));
    fields.optionalKind('instructions', ['string']);
    const continuationKeys = continuationKeysOf(fields);
    const cacheKey = fields.optionalText('prompt_cache_key');
    if (cacheKey !== null && [...cacheKey].length > CACHE_KEY_CHARS_MAX) {
      throw invalidRequest(
        `The field "prompt_cache_key" must have at most ${CACHE_KEY_CHARS_MAX} characters.`,
        'prompt_cache_key',
      );
    }
    const cacheOptions = fields.optionalObject('prompt_cache_options');
    cacheOptions?.optionalWord('mode', ['implicit', 'explicit']);
    cacheOptions?.optionalWord('ttl', ['30m']);
    fields.optionalWord('prompt_cache_retention', ['in_memory', '24h']);
    fields.optionalWord('service_tier', ['auto', 'default', 'fast', 'flex', 'priority']);
    return {
      model,
      continuationKeys,
      named: asked.named(RESPONSES_TABLE),
      demand: { outputTokensLimit: null },
      details: null,
    };
  },
  response: () => compactionResponse,
});
