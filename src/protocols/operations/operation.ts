import type { IncomingHttpHeaders } from 'node:http';
import type { RenderStreamError } from '../../errors/envelopes.ts';
import type { JsonScanLimits } from '../../lib/json/json-scan.ts';
import type { KnownProtocol } from '../all.ts';
import type { ChargeOption } from '../metering/charge-options.ts';
import type { RestateUsage } from '../metering/input-with-cache.ts';
import type { ResponseReading } from '../metering/response.ts';
import type { ServiceTerms } from '../metering/service-terms.ts';
import type { StreamReading } from '../metering/stream-reading.ts';
import type { ChargeBasis } from '../metering/usage-facts.ts';
import type { OnePriceKey } from '../metering/usage-units.ts';
import type { PlanHeaders } from '../plan-windows.ts';
import type { StateReference } from '../state-references.ts';
import type { BodyKind } from '../token-estimate/count-body.ts';
import type { UnlistedPart } from '../unlisted-parts.ts';
import type { BodySession, Session, SessionPlaces } from './session.ts';

/** What differs between kinds of calls. The endpoint table has their addresses; `calls` implements what all kinds share. */
export interface Operation<Name extends string = string> {
  /** Name of the operation in the configuration, in records and in the admin API. */
  readonly name: Name;
  readonly protocol: KnownProtocol;
  readonly upstreamPath: string;
  readonly streamError: RenderStreamError;
  /** Whether the connection is closed after an error: without an error event in the protocol, the response could seem complete. */
  readonly cutsBrokenStreams?: boolean | undefined;
  /** Builds headers about the use of a plan. Absent: clients of this operation read none. */
  readonly planHeaders?: PlanHeaders | undefined;
  /** How calls are charged: by the last option for which the model has prices, or else by the first. */
  readonly charge: readonly [ChargeOption, ...ChargeOption[]];
  /** Prices of tools whose uses responses can report. */
  readonly toolPrices?: readonly OnePriceKey[];
  /** Names in the public catalog; `null`: the catalog does not list the operation (contract 2.5). */
  readonly catalogEntry: CatalogEntry | null;
  /** Body format in which input tokens are counted if a stream ends without usage; `null`: they are estimated by size. */
  readonly countedAs: BodyKind | null;
  /** Whether a response is always read to its end after a client abort, because only a complete one reports its cost. */
  readonly isAlwaysAwaited: boolean;
}

/** Names in the public catalog, without the protocol's prefix. */
interface CatalogEntry {
  readonly interfaceId: string;
  readonly operationId: string;
}

export interface JsonOperation<Name extends string = string> extends Operation<Name> {
  /** Whether `read` only scans the bytes, or also parses values, which takes much longer. */
  readonly reading: 'scans' | 'parses';
  /** Reads a body. @throws GatewayError `invalidRequest` with the invalid field; JsonStepsError if the scan exceeds its limit of steps */
  read(body: Buffer, limits?: JsonScanLimits): RequestFacts;
  toInput(facts: RequestFacts, body: Buffer): CallInput;
}

/** What an operation reads from a JSON body. All values are plain, so that they can be copied between threads. */
export interface RequestFacts<Details = unknown> {
  /** The called model; `null`: that of the earlier call which this one continues. */
  readonly model: string | null;
  readonly modelPlace: ModelPlace;
  /** Changes of the body for the provider, in addition to the model name. */
  readonly splices: readonly Splice[];
  readonly continuationKeys: readonly string[];
  readonly references: readonly StateReference[];
  readonly unlisted: readonly UnlistedPart[];
  /** How to find the conversation of the call; `null`: calls of this operation have none. */
  readonly session: BodySession | null;
  readonly endUser: BodyEndUser;
  /** Offset of `messages`, where signed blocks are; -1 if absent. */
  readonly messagesAt: number;
  readonly isStream: boolean;
  readonly inputTokensEstimate: number;
  readonly choices: number;
  readonly demand: Demand;
  readonly details: Details;
}

/** Offsets to find the end user later; for a body too large for the main thread, the end user (`null`: none). */
export type BodyEndUser = { readonly places: SessionPlaces } | { readonly named: string | null };

/** Where a body names the model. Its bytes `[start, end)` are replaced by `before`, the provider's name as JSON, and `after`. */
export interface ModelPlace {
  readonly start: number;
  readonly end: number;
  readonly before: string;
  readonly after: string;
  readonly isNamed: boolean;
}

/** A change of a body. If `start` and `end` are equal, the text is inserted. */
export interface Splice {
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

/** An operation whose requests do not fit in memory. They are stored and read at the same time. */
export interface UploadOperation<Name extends string = string> extends Operation<Name> {
  /** Begins to read an upload. @throws GatewayError `unsupportedMediaType` if the endpoint does not accept the content type */
  receive(contentType: string | undefined, digest?: Digest | null): UploadReader;
}

/** Receives the content of an upload regardless of its encoding, so that equal uploads have equal digests. */
export interface Digest {
  add(bytes: Buffer | string): unknown;
}

export interface UploadReader {
  /** Reads the next chunk. @throws GatewayError `invalidRequest` as soon as the upload cannot become valid */
  push(chunk: Buffer): void;
  /** Returns what was read. @throws GatewayError `invalidRequest` with the invalid part */
  finish(stored: StoredUpload): CallInput;
}

/** A body that does not fit in memory. Each attempt reads it again. */
export interface StoredBody {
  readonly sizeBytes: number;
  read(): AsyncIterable<Buffer>;
}

export type RequestBody = Buffer | StoredBody;

export interface StoredUpload {
  readonly sizeBytes: number;
  read(start?: number, end?: number): AsyncIterable<Buffer>;
}

/** What determines the cost of a request in addition to the size of its text. All values are plain. */
export interface Demand {
  /** Estimated input tokens of images, files and stored items that the request refers to. */
  readonly addressedTokens: number;
  /** Expected number of uses of provider tools. Their results become input. */
  readonly serverToolUses: number;
  /** Input tokens above which the provider summarizes the input; `null`: the request does not ask for this. */
  readonly compactsAboveTokens: number | null;
  /** Whether the provider may write the input to its cache, which can cost more than other input. */
  readonly writesCache: boolean;
  /** Number of inputs that the model processes separately, such as texts to embed. Each can fill the model's context. */
  readonly inputs: number;
  readonly searchUnits: number;
  readonly searchUnitsMax: number;
  /** Output limit of the request for each choice, the highest one. 0: the operation has no output. `null`: no limit. */
  readonly outputTokensLimit: number | null;
  /** Thinking tokens for each choice, in addition to the output limit. */
  readonly thinkingTokens: number;
  /** Output tokens for each choice that no limit covers: those of a rejected prediction, or of thinking without a limit. */
  readonly moreOutputTokens: number;
  readonly outputTokensDefault: number;
  /** Stored state that the call continues; `unknown`: state of unknown size. */
  readonly continues: 'nothing' | 'response' | 'unknown';
  readonly innerModels: readonly InnerModel[];
  readonly terms: ServiceTerms;
  /** Path of the member with audio as input; `null`: none. The next member is the one that asks for audio as output. */
  readonly audioInput: string | null;
  readonly audioOutput: string | null;
}

export interface InnerModel {
  readonly name: string;
  readonly param: string;
}

/** Assumed output tokens if neither the request nor the model has a limit. */
export const OUTPUT_TOKENS_DEFAULT = 4_096;

export const plainDemand: Demand = {
  addressedTokens: 0,
  serverToolUses: 0,
  compactsAboveTokens: null,
  writesCache: false,
  inputs: 1,
  searchUnits: 1,
  searchUnitsMax: 1,
  outputTokensLimit: null,
  thinkingTokens: 0,
  moreOutputTokens: 0,
  outputTokensDefault: OUTPUT_TOKENS_DEFAULT,
  continues: 'nothing',
  innerModels: [],
  terms: {},
  audioInput: null,
  audioOutput: null,
};

/** Returns the maximum output of all choices together; infinite if the request has no limit. */
export function outputTokensMax({ outputTokensLimit, thinkingTokens, moreOutputTokens }: Demand, choices = 1): number {
  if (outputTokensLimit === null) return Number.POSITIVE_INFINITY;
  return (outputTokensLimit + thinkingTokens + moreOutputTokens) * choices;
}

export interface CallInput {
  /** The called model; `null`: that of the earlier call which this one continues. */
  readonly model: string | null;
  /** Continuation keys of earlier calls that this one refers to, the most specific one first. */
  readonly continuationKeys: readonly string[];
  /** Returns keys of signed blocks, the newest first. Slow, so it is called only if there is a choice of providers. */
  signedKeys(): readonly string[];
  /** The response member that can contain signed blocks; `null`: neither responses nor streams are searched for them. */
  readonly signedMember: string | null;
  /** Provider state that the request refers to. All of it must belong to the account. */
  readonly references: readonly StateReference[];
  /** Unknown tools and tool members. The configuration of a provider must allow them. */
  readonly unlisted: readonly UnlistedPart[];
  /** Returns the conversation of the call. It may read the messages, so it is called only if there is a choice of routes. */
  session(headers: IncomingHttpHeaders): Session | null;
  /** Returns the end user whom the request names, if it can be recorded; `null`: none. Called only if it is recorded. */
  endUser(): string | null;
  readonly isStream: boolean;
  /** Size of the body after decompression. */
  readonly sizeBytes: number;
  /** Input tokens estimated by size, for the reservation and for streams that end without usage. */
  readonly inputTokensEstimate: number;
  readonly demand: Demand;
  /** Number of choices in the request. Each one may use the model's full output. */
  readonly choices: number;
  readonly contentType: string;
  /** The body as the client wrote it; `null`: it is too large to be kept in memory. */
  readonly clientBody: Buffer | null;
  /** Checks the request against its model. @throws GatewayError `invalidRequest` with the invalid field */
  checkFor(modelId: string): void;
  /** Returns the body for the provider: unchanged except for the model name and the option to report usage. */
  toProvider(providerModel: string): RequestBody;
  readonly response: ResponseReading;
  /** Returns what reads a stream of this call. `restate` changes usage before it is read. */
  readStream(basis: ChargeBasis, restate?: RestateUsage): StreamReading;
}
