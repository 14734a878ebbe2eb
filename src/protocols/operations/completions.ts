import { chatStreamError } from '../chat/errors.ts';
import { chatProtocol } from '../chat/protocol.ts';
import { chatResponse } from '../chat/response.ts';
import { readChatStream } from '../chat/stream.ts';
import { byTokens } from '../metering/charge-options.ts';
import { PLAIN_TABLE } from '../plain-references.ts';
import { estimateRequestTokens } from '../token-estimate/request-size.ts';
import { jsonOperation } from './json-operation.ts';
import { type Demand, outputTokensMax } from './operation.ts';
import { readTexts } from './texts.ts';
import { includeUsageSplice } from './usage-option.ts';

/**
 * Text completions (contract 4.2), with which editors fill in code between `prompt` and `suffix`. The prompt is one text or several, each as
 * a string or a list of tokens. Usage, errors and the end of a stream are as in chat.
 */
export const completions = jsonOperation({
  name: 'completions',
  protocol: chatProtocol,
  upstreamPath: '/completions',
  streamError: chatStreamError,
  cutsBrokenStreams: true,
  charge: [byTokens(['input', 'output'])],
  catalogEntry: null,
  countedAs: null,
  isAlwaysAwaited: false,
  reading: 'scans',
  readRequest(fields, asked) {
    const model = fields.requiredText('model');
    // Without a prompt, the model begins a new text.
    fields.optionalKind('prompt', ['string', 'array']);
    const isStream = fields.optionalBoolean('stream') ?? false;
    const shown = fields.optionalWhole('n', 1) ?? 1;
    fields.optionalWhole('best_of', 0);
    fields.optionalWhole('max_tokens', 0);
    const prompt = fields.member('prompt');
    const { inputs, numbers } = prompt === undefined ? ONE_TEXT : readTexts(fields.reader(prompt.valueStart));
    const named = asked.named(PLAIN_TABLE);
    const usageSplice = isStream ? includeUsageSplice(fields) : null;
    return {
      model,
      isStream,
      named,
      // `best_of` is more than is shown, and all of it is billed.
      choices: asked.choices * inputs,
      demand: { inputs },
      inputTokensEstimate: Math.max(estimateRequestTokens(fields.bytes, fields.longValues), numbers),
      splices: usageSplice === null ? [] : [usageSplice],
      details: {
        dropsUsageChunk: usageSplice !== null,
        choices: shown * inputs,
        echoes: fields.optionalBoolean('echo') ?? false,
      },
    };
  },
  response({ choices, echoes }, demand) {
    const reading = chatResponse(ofDemand(demand, choices));
    // With `echo`, the response repeats the prompt, so its size does not tell how much the model wrote.
    if (!echoes) return reading;
    const { estimate: _, written: __, ...withoutEstimate } = reading;
    return withoutEstimate;
  },
  readStream: (details, _basis, demand, restate) =>
    readChatStream({ ...details, ...ofDemand(demand, details.choices), restate }),
});

const ONE_TEXT = { inputs: 1, numbers: 0 };

function ofDemand(demand: Demand, choices: number) {
  return { outputTokensMax: outputTokensMax(demand, choices) };
}
