import type { RestateUsage } from '../metering/input-with-cache.ts';
import type { ResponseReading } from '../metering/response.ts';
import type { StreamReading } from '../metering/stream-reading.ts';
import type { ChargeBasis } from '../metering/usage-facts.ts';
import { readPlainReferences } from '../plain-references.ts';
import type { NamedState } from '../request-reader.ts';
import { reasoningKeys } from '../responses/continuation-keys.ts';
import { signedKeysIn } from '../signed-blocks.ts';
import { continuationOf } from '../state-references.ts';
import { estimateRequestTokens } from '../token-estimate/request-size.ts';
import { readDemand } from './demand.ts';
import { BodyFields } from './fields.ts';
import {
  type CallInput,
  type Demand,
  type JsonOperation,
  type ModelPlace,
  type Operation,
  plainDemand,
  type RequestFacts,
  type Splice,
} from './operation.ts';
import { bodySession, readSession, sessionPlaces } from './session.ts';

/** What is read of one body; what is left out has the value that most operations give it. */
export interface ReadRequest<Details> {
  readonly model: string | null;
  readonly isStream?: boolean;
  readonly continuationKeys?: readonly string[];
  /** What the call names at a provider; absent: it is read by the table of all operations. */
  readonly named?: NamedState;
  readonly choices?: number;
  /** The parts of the demand that this operation reads in its own way. */
  readonly demand?: Partial<Demand>;
  /** The input in tokens, where more than its size decides. */
  readonly inputTokensEstimate?: number;
  /** What else than the model has to differ for the provider. */
  readonly splices?: readonly Splice[];
  readonly details: Details;
}

/** What differs between operations with a JSON body. `Details` are plain values: see `RequestFacts`. */
export interface JsonOperationParts<Details, Name extends string = string> extends Operation<Name> {
  /** What `readRequest` does, see `JsonOperation`. One that only scans never asks for `wholeValue`. */
  readonly reading: JsonOperation['reading'];
  /** @throws GatewayError `invalidRequest` with the field to blame. */
  readRequest(fields: BodyFields): ReadRequest<Details>;
  /** @throws GatewayError `invalidRequest` if the model does not take what is asked for. */
  checkFor?(details: Details, modelId: string): void;
  response(details: Details, demand: Demand): ResponseReading;
  /** Whether a request may ask for several choices. */
  readonly givesChoices?: boolean;
  /** Whether its calls belong to sessions, whose prompts providers cache. */
  readonly hasSessions?: boolean;
  /** The member of its responses that may have signed blocks. Absent: it has none, or continuation keys cover them. */
  readonly signedMember?: string;
  /** Absent if the operation has no streams. */
  readStream?(details: Details, basis: ChargeBasis, demand: Demand, restate: RestateUsage | undefined): StreamReading;
}

/** Makes an operation from its parts: what it reads of a body, and what follows from that for the call. */
export function jsonOperation<Details, const Name extends string>(
  parts: JsonOperationParts<Details, Name>,
): JsonOperation<Name> {
  const {
    readRequest,
    checkFor,
    response,
    givesChoices,
    hasSessions,
    signedMember = null,
    readStream,
    ...operation
  } = parts;
  return {
    ...operation,
    read(body, limits): RequestFacts<Details> {
      const fields = BodyFields.read(body, limits);
      const request = readRequest(fields);
      const { choices, ...demand } = readDemand(fields, operation.protocol.imageTokens);
      const { references, unlisted } = request.named ?? readPlainReferences(fields.reader());
      const places = hasSessions ? sessionPlaces(fields.members) : null;
      return {
        model: request.model,
        modelPlace: fields.modelPlace(),
        splices: request.splices ?? [],
        continuationKeys: request.continuationKeys ?? [],
        references,
        unlisted,
        session: places === null ? null : bodySession(body, places),
        messagesAt: places?.messages ?? -1,
        isStream: request.isStream ?? false,
        inputTokensEstimate: (request.inputTokensEstimate ?? estimateRequestTokens(body)) + demand.addressedTokens,
        choices: request.choices ?? (givesChoices ? choices : 1),
        demand: { ...plainDemand, ...demand, continues: continuationOf(references), ...request.demand },
        details: request.details,
      };
    },
    toInput(facts, body): CallInput {
      const { model, modelPlace, splices } = facts;
      // The facts come from `read` above, which may have run in another thread.
      const details = facts.details as Details;
      return {
        model,
        continuationKeys: facts.continuationKeys,
        signedKeys: () => signedKeysOf(facts, body),
        signedMember,
        references: facts.references,
        unlisted: facts.unlisted,
        session: (headers) => (facts.session === null ? null : readSession(headers, body, facts.session)),
        isStream: facts.isStream,
        sizeBytes: body.length,
        inputTokensEstimate: facts.inputTokensEstimate,
        demand: facts.demand,
        choices: facts.choices,
        contentType: 'application/json',
        checkFor: (modelId) => checkFor?.(details, modelId),
        toProvider: (providerModel) => splice(body, [...modelSplice(modelPlace, model, providerModel), ...splices]),
        response: response(details, facts.demand),
        readStream(basis, restate) {
          if (readStream === undefined) throw new Error(`the operation ${operation.name} has no streams`);
          return readStream(details, basis, facts.demand, restate);
        },
      };
    },
  };
}

function signedKeysOf({ messagesAt, continuationKeys }: RequestFacts, body: Buffer): string[] {
  return messagesAt === -1 ? reasoningKeys(continuationKeys) : signedKeysIn(body, messagesAt);
}

/**
 * What gives the provider its own name of the model: a replacement if the names differ, an insertion if the client
 * left the model to the gateway, so that the provider does not choose another.
 */
function modelSplice(place: ModelPlace, model: string | null, providerModel: string): Splice[] {
  if (place.isNamed && model === providerModel) return [];
  const { start, end, before, after } = place;
  return [{ start, end, text: `${before}${JSON.stringify(providerModel)}${after}` }];
}

/** Applies replacements that do not overlap. Every other byte stays as it is. */
export function splice(bytes: Buffer, splices: readonly Splice[]): Buffer {
  if (splices.length === 0) return bytes;
  const parts: Buffer[] = [];
  let at = 0;
  for (const { start, end, text } of splices.toSorted((left, right) => left.start - right.start)) {
    parts.push(bytes.subarray(at, start), Buffer.from(text));
    at = end;
  }
  parts.push(bytes.subarray(at));
  return Buffer.concat(parts);
}
