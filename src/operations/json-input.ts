import type { CallInput } from '../call/operation.ts';
import type { AnswerReading } from '../metering/answer.ts';
import { estimateTokens } from '../metering/estimate.ts';
import type { StreamReading } from '../metering/tap.ts';
import type { ChargeBasis } from '../metering/usage-facts.ts';
import { type BodyFields, modelSplice, type Splice, splice } from './fields.ts';

/** What an operation with a JSON body knows of a call; the rest follows from the body. */
export interface JsonInputParts {
  readonly model: string | null;
  readonly isStream?: boolean;
  readonly affinityKeys?: readonly string[];
  readonly outputTokensRequested: number | null;
  readonly choices?: number;
  /** What else than the model has to differ for the provider. */
  readonly splices?: readonly Splice[];
  readonly checkFor?: (modelId: string) => void;
  readonly answer: AnswerReading;
  /** Absent where the operation has no streams. */
  readonly readStream?: (basis: ChargeBasis) => StreamReading;
}

/** The input of a call whose request is a JSON body. */
export function jsonInput(fields: BodyFields, parts: JsonInputParts): CallInput {
  const { model, splices = [], readStream } = parts;
  return {
    model,
    affinityKeys: parts.affinityKeys ?? [],
    isStream: parts.isStream ?? false,
    sizeBytes: fields.bytes.length,
    inputTokensEstimate: estimateTokens(fields.bytes.length),
    outputTokensRequested: parts.outputTokensRequested,
    choices: parts.choices ?? 1,
    contentType: 'application/json',
    checkFor: parts.checkFor ?? (() => undefined),
    toProvider: (providerModel) => splice(fields.bytes, [...modelSplice(fields, model, providerModel), ...splices]),
    answer: parts.answer,
    readStream(basis) {
      if (readStream === undefined) throw new Error('this operation has no streams');
      return readStream(basis);
    },
  };
}
