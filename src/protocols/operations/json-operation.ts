import type { IncomingHttpHeaders } from 'node:http';
import type { RestateUsage } from '../metering/input-with-cache.ts';
import type { ResponseReading } from '../metering/response.ts';
import type { StreamReading } from '../metering/stream-reading.ts';
import type { ChargeBasis } from '../metering/usage-facts.ts';
import { PLAIN_TABLE } from '../plain-references.ts';
import type { NamedState } from '../request-reader.ts';
import { reasoningKeys } from '../responses/continuation-keys.ts';
import { signedKeysIn } from '../signed-blocks.ts';
import { continuationOf, type StateReference } from '../state-references.ts';
import { estimateRequestTokens } from '../token-estimate/request-size.ts';
import type { UnlistedPart } from '../unlisted-parts.ts';
import { DemandReader } from './demand.ts';
import { endUserAt } from './end-user.ts';
import { BodyFields } from './fields.ts';
import type { CallInput, Demand, JsonOperation, ModelPlace, Operation, RequestFacts, Splice } from './operation.ts';
import { bodySession, READ_LATER_BYTES_MAX, readSession, type Session, sessionPlaces } from './session.ts';

export interface ReadRequest<Details> {
  readonly model: string | null;
  readonly isStream?: boolean;
  readonly continuationKeys?: readonly string[];
  /** Provider state that the request refers to. Absent: it is read with `PLAIN_TABLE`. */
  readonly named?: NamedState;
  readonly choices?: number;
  readonly demand?: Partial<Demand>;
  /** Estimated input tokens; absent: estimated from the size of the body. */
  readonly inputTokensEstimate?: number;
  /** Changes of the body for the provider, in addition to the model name. */
  readonly splices?: readonly Splice[];
  readonly details: Details;
}

/** What differs between operations with a JSON body. `Details` must consist of plain values (see `RequestFacts`). */
export interface JsonOperationParts<Details, Name extends string = string> extends Operation<Name> {
  /** How `read` works. An operation with the value `scans` must not call `wholeValue`. */
  readonly reading: JsonOperation['reading'];
  /** Reads a request. @throws GatewayError `invalidRequest` with the invalid field */
  readRequest(fields: BodyFields, asked: DemandReader): ReadRequest<Details>;
  /** Checks a request against its model. @throws GatewayError `invalidRequest` if the model does not support it */
  checkFor?(details: Details, modelId: string): void;
  response(details: Details, demand: Demand): ResponseReading;
  readonly givesChoices?: boolean;
  /** Whether calls belong to conversations, whose prompts a provider can cache. */
  readonly hasSessions?: boolean;
  /** The response member that can contain signed blocks. Absent: it has none, or continuation keys cover them. */
  readonly signedMember?: string;
  readStream?(details: Details, basis: ChargeBasis, demand: Demand, restate: RestateUsage | undefined): StreamReading;
}

export function jsonOperation<Details, const Name extends string>(
  parts: JsonOperationParts<Details, Name>,
): JsonOperation<Name> {
  return {
    ...parts,
    read(body, limits): RequestFacts<Details> {
      const fields = BodyFields.read(body, limits);
      const asked = new DemandReader(fields, parts.protocol.imageTokens);
      const request = parts.readRequest(fields, asked);
      const { references, unlisted } = request.named ?? asked.named(PLAIN_TABLE);
      const demand = asked.demand(continuationOf(references));
      const places = sessionPlaces(fields.members);
      return {
        model: request.model,
        modelPlace: fields.modelPlace(),
        splices: request.splices ?? [],
        continuationKeys: request.continuationKeys ?? [],
        references,
        unlisted,
        session: parts.hasSessions ? bodySession(body, places) : null,
        endUser:
          body.length <= READ_LATER_BYTES_MAX ? { places } : { named: endUserAt(body, places, parts.protocol.name) },
        messagesAt: parts.hasSessions ? places.messages : -1,
        isStream: request.isStream ?? false,
        inputTokensEstimate:
          (request.inputTokensEstimate ?? estimateRequestTokens(body, fields.longValues)) + demand.addressedTokens,
        choices: request.choices ?? (parts.givesChoices ? asked.choices : 1),
        demand: request.demand === undefined ? demand : { ...demand, ...request.demand },
        details: request.details,
      };
    },
    toInput: (facts, body) => new JsonCallInput(parts, facts as RequestFacts<Details>, body),
  };
}

class JsonCallInput<Details> implements CallInput {
  readonly #parts: JsonOperationParts<Details>;
  readonly #facts: RequestFacts<Details>;
  readonly #body: Buffer;
  #response: ResponseReading | null = null;
  readonly model: string | null;
  readonly continuationKeys: readonly string[];
  readonly signedMember: string | null;
  readonly references: readonly StateReference[];
  readonly unlisted: readonly UnlistedPart[];
  readonly isStream: boolean;
  readonly sizeBytes: number;
  readonly inputTokensEstimate: number;
  readonly demand: Demand;
  readonly choices: number;
  readonly contentType = 'application/json';

  /** @param facts what was read from `body`, possibly in another thread */
  constructor(parts: JsonOperationParts<Details>, facts: RequestFacts<Details>, body: Buffer) {
    this.#parts = parts;
    this.#facts = facts;
    this.#body = body;
    this.model = facts.model;
    this.continuationKeys = facts.continuationKeys;
    this.signedMember = parts.signedMember ?? null;
    this.references = facts.references;
    this.unlisted = facts.unlisted;
    this.isStream = facts.isStream;
    this.sizeBytes = body.length;
    this.inputTokensEstimate = facts.inputTokensEstimate;
    this.demand = facts.demand;
    this.choices = facts.choices;
  }

  get clientBody(): Buffer {
    return this.#body;
  }

  signedKeys(): readonly string[] {
    const { messagesAt, continuationKeys } = this.#facts;
    return messagesAt === -1 ? reasoningKeys(continuationKeys) : signedKeysIn(this.#body, messagesAt);
  }

  session(headers: IncomingHttpHeaders): Session | null {
    const { session } = this.#facts;
    return session === null ? null : readSession(headers, this.#body, session);
  }

  endUser(): string | null {
    const { endUser } = this.#facts;
    return 'named' in endUser ? endUser.named : endUserAt(this.#body, endUser.places, this.#parts.protocol.name);
  }

  checkFor(modelId: string): void {
    this.#parts.checkFor?.(this.#facts.details, modelId);
  }

  toProvider(providerModel: string): Buffer {
    const { model, modelPlace, splices } = this.#facts;
    return splice(this.#body, [...modelSplice(modelPlace, model, providerModel), ...splices]);
  }

  get response(): ResponseReading {
    this.#response ??= this.#parts.response(this.#facts.details, this.demand);
    return this.#response;
  }

  readStream(basis: ChargeBasis, restate?: RestateUsage): StreamReading {
    const { readStream, name } = this.#parts;
    if (readStream === undefined) throw new Error(`the operation ${name} does not support streaming`);
    return readStream(this.#facts.details, basis, this.demand, restate);
  }
}

/** Sets the provider's name of the model. It is inserted if the client sent none, because the provider would choose a default. */
function modelSplice(place: ModelPlace, model: string | null, providerModel: string): Splice[] {
  if (place.isNamed && model === providerModel) return [];
  const { start, end, before, after } = place;
  return [{ start, end, text: `${before}${JSON.stringify(providerModel)}${after}` }];
}

/** Applies changes, which must not overlap. */
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
