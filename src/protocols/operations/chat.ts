import { isRecord, parseJson } from '../../lib/json/json.ts';
import { chatStreamError } from '../chat/errors.ts';
import { chatProtocol } from '../chat/protocol.ts';
import { chatResponse } from '../chat/response.ts';
import { CHAT_TABLE } from '../chat/state-references.ts';
import { readChatStream } from '../chat/stream.ts';
import { byTokens } from '../metering/charge-options.ts';
import type { BodyFields } from './fields.ts';
import { jsonOperation } from './json-operation.ts';
import { type Demand, outputTokensMax } from './operation.ts';
import { includeUsageSplice } from './usage-option.ts';

export const chat = jsonOperation({
  name: 'chat',
  protocol: chatProtocol,
  upstreamPath: '/chat/completions',
  streamError: chatStreamError,
  cutsBrokenStreams: true,
  charge: [byTokens(['input', 'output'])],
  toolPrices: ['perWebSearch', 'perToolUse'],
  catalogEntry: { interfaceId: 'CHAT_COMPLETIONS', operationId: 'CHAT_CREATE' },
  countedAs: 'chat',
  isAlwaysAwaited: false,
  givesChoices: true,
  reading: 'scans',
  hasSessions: true,
  signedMember: 'choices',
  readRequest(fields, asked) {
    const model = fields.requiredText('model');
    fields.requireKind('messages', ['array']);
    const isStream = fields.optionalBoolean('stream') ?? false;
    const choices = fields.optionalWhole('n', 1) ?? 1;
    fields.optionalWhole('max_tokens', 0);
    fields.optionalWhole('max_completion_tokens', 0);
    const usageSplice = isStream ? includeUsageSplice(fields) : null;
    return {
      model,
      isStream,
      named: asked.named(CHAT_TABLE),
      splices: usageSplice === null ? [] : [usageSplice],
      details: {
        dropsUsageChunk: usageSplice !== null,
        choices,
        hasAudio: fields.has('audio') || fields.has('modalities'),
        audioFormat: audioFormat(fields),
        asksForSearch: fields.has('web_search_options'),
        asksForTier: fields.has('service_tier'),
      },
    };
  },
  response: (details, demand) => chatResponse({ ...details, ...ofDemand(demand, details.choices) }),
  readStream: (details, _basis, demand, restate) =>
    readChatStream({ ...details, ...ofDemand(demand, details.choices), restate }),
});

function ofDemand(demand: Demand, choices: number) {
  return { offersTools: demand.serverToolUses > 0, outputTokensMax: outputTokensMax(demand, choices) };
}

function audioFormat(fields: BodyFields): string | null {
  const audio = fields.member('audio');
  if (audio?.kind !== 'object' || audio.valueEnd - audio.valueStart > AUDIO_BYTES_MAX) return null;
  const asked = parseJson(fields.bytes.toString('utf8', audio.valueStart, audio.valueEnd));
  return isRecord(asked) && typeof asked.format === 'string' ? asked.format : null;
}

/** Maximum bytes of the member `audio`, which has a voice and a format. */
const AUDIO_BYTES_MAX = 4_096;
