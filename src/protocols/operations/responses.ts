import { invalidRequest } from '../../errors/gateway-error.ts';
import { chatProtocol } from '../chat/protocol.ts';
import { byTokens } from '../metering/charge-options.ts';
import { responsesStreamError } from '../responses/errors.ts';
import { responsesPlanHeaders } from '../responses/plan-headers.ts';
import { responsesResponse } from '../responses/response.ts';
import { RESPONSES_TABLE } from '../responses/state-references.ts';
import { readResponsesStream } from '../responses/stream.ts';
import type { ContainerUse } from '../responses/tool-uses.ts';
import type { ResponsesUsageContext } from '../responses/usage.ts';
import { continuationOf } from '../state-references.ts';
import { continuationKeysOf } from './continuation-keys.ts';
import { jsonOperation } from './json-operation.ts';
import { type Demand, outputTokensMax } from './operation.ts';

/** Responses (contract 4). Providers report usage in all responses, and in the last event of a stream. */
export const responses = jsonOperation({
  name: 'responses',
  protocol: chatProtocol,
  upstreamPath: '/responses',
  streamError: responsesStreamError,
  planHeaders: responsesPlanHeaders,
  charge: [byTokens(['input', 'output'])],
  toolPrices: ['perWebSearch', 'perFileSearch', 'perCodeExecution', 'perContainer', 'perToolUse'],
  catalogEntry: { interfaceId: 'RESPONSES', operationId: 'RESPONSES_CREATE' },
  countedAs: 'responses',
  isAlwaysAwaited: false,
  reading: 'scans',
  hasSessions: true,
  readRequest(fields, asked) {
    const model = fields.requiredText('model');
    fields.optionalKind('input', ['string', 'array']);
    if (fields.optionalBoolean('background') === true) {
      throw invalidRequest(
        'The field "background" must not be true: the response would have no usage to bill.',
        'background',
      );
    }
    fields.optionalWhole('max_output_tokens', 0);
    const named = asked.named(RESPONSES_TABLE);
    const containers = named.references.flatMap(({ kind, id }) => (kind === 'container' ? [id] : []));
    return {
      model,
      continuationKeys: continuationKeysOf(fields),
      named,
      isStream: fields.optionalBoolean('stream') ?? false,
      details: {
        // Items that are not stored cannot be referred to later.
        keepsItems: fields.optionalBoolean('store') !== false,
        containerUse: { named: containers, mayContinue: continuationOf(named.references) !== 'nothing' },
      },
    };
  },
  response: ({ keepsItems, containerUse }, demand) => responsesResponse(keepsItems, contextOf(containerUse, demand)),
  readStream: ({ keepsItems, containerUse }, _basis, demand, restate) =>
    readResponsesStream({ keepsItems, ...contextOf(containerUse, demand), restate }),
});

function contextOf(
  containerUse: Pick<ContainerUse, 'named' | 'mayContinue'>,
  demand: Demand,
): Required<ResponsesUsageContext> {
  return {
    containerUse: { ...containerUse, offersTools: demand.serverToolUses > 0 },
    outputTokensMax: outputTokensMax(demand),
  };
}
