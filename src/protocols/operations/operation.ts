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
import type { BodySession, Session } from './session.ts';

/** What distinguishes one kind of call from others. The endpoint table defines its addresses; `calls` implements what all kinds share. */
export interface Operation<Name extends string = string> {
  /** Name in the configuration, in records and in the admin API. */
  readonly name: Name;
  readonly protocol: KnownProtocol;
  readonly upstreamPath: string;
  readonly streamError: RenderStreamError;
  /**
   * Whether the connection is closed after an error within a stream. Required if the protocol has no error event: otherwise clients that do not
   * recognize ours would treat the response as complete.
   */
  readonly cutsBrokenStreams?: boolean | undefined;
  /** Builds headers about plan usage; absent if clients of this operation read none. */
  readonly planHeaders?: PlanHeaders | undefined;
  /** What calls can be charged by, default first. Of the options for which the model has prices, the last one applies. */
  readonly charge: readonly [ChargeOption, ...ChargeOption[]];
  /** Prices of tools whose uses the responses may report. Absent: none. */
  readonly toolPrices?: readonly OnePriceKey[];
  /** Names in the public catalog; `null`: not listed (contract 2.5). */
  readonly catalogEntry: CatalogEntry | null;
  /** How input tokens are counted if a stream ends without usage; `null`: by size. */
  readonly countedAs: BodyKind | null;
  /** Whether the gateway awaits the response after a client abort, because the cost is known only when it is complete. */
  readonly isAlwaysAwaited: boolean;
}

/** Names in the public catalog, without the protocol's prefix. */
interface CatalogEntry {
  readonly interfaceId: string;
  readonly operationId: string;
}

export interface JsonOperation<Name extends string = string> extends Operation<Name> {
  /** Whether `read` only scans the bytes or also parses values, which takes much longer. */
  readonly reading: 'scans' | 'parses';
  /**
   * Extracts what the gateway needs from a body as plain values. Large bodies are read in another thread.
   *
   * @param limits Limits of the scan; default: those of `scanJson`.
   * @throws GatewayError `invalidRequest` with the field that is wrong; JsonStepsError if the scan exceeds its step limit.
   */
  read(body: Buffer, limits?: JsonScanLimits): RequestFacts;
  toInput(facts: RequestFacts, body: Buffer): CallInput;
}

/** What an operation reads from a JSON body. Plain values, which can be copied between threads. */
export interface RequestFacts<Details = unknown> {
  /** `null`: the model of the earlier call that this one continues. */
  readonly model: string | null;
  readonly modelPlace: ModelPlace;
  /** Changes for the provider in addition to the model. */
  readonly splices: readonly Splice[];
  readonly continuationKeys: readonly string[];
  readonly references: readonly StateReference[];
  readonly unlisted: readonly UnlistedPart[];
  /** `null`: calls of this operation have no sessions. */
  readonly session: BodySession | null;
  /** Offset of `messages`, which contains the signed blocks; -1 if absent. */
  readonly messagesAt: number;
  readonly isStream: boolean;
  readonly inputTokensEstimate: number;
  readonly choices: number;
  readonly demand: Demand;
  readonly details: Details;
}

/** Bytes `[start, end)` are replaced by `before`, the provider's name of the model as JSON, and `after`. */
export interface ModelPlace {
  readonly start: number;
  readonly end: number;
  readonly before: string;
  readonly after: string;
  /** Whether these bytes contain the client's name of the model. */
  readonly isNamed: boolean;
}

/** A replacement of `bytes[start, end)`; an insertion if both are equal. */
export interface Splice {
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

/** An operation whose request does not fit in memory. It is stored and read at the same time. */
export interface UploadOperation<Name extends string = string> extends Operation<Name> {
  /**
   * Starts reading an upload. `digest` receives its content independently of the encoding, so that equal uploads have equal digests.
   *
   * @throws GatewayError `unsupportedMediaType` if the endpoint does not accept the content type.
   */
  receive(contentType: string | undefined, digest?: Digest | null): UploadReader;
}

export interface Digest {
  add(bytes: Buffer | string): unknown;
}

export interface UploadReader {
  /** @throws GatewayError `invalidRequest` as soon as the upload cannot become valid. */
  push(chunk: Buffer): void;
  /**
   * Called when the upload is complete and stored.
   *
   * @throws GatewayError `invalidRequest` with the part that is wrong.
   */
  finish(stored: StoredUpload): CallInput;
}

/** A body that does not fit in memory. It is read again for each attempt. */
export interface StoredBody {
  readonly sizeBytes: number;
  read(): AsyncIterable<Buffer>;
}

export type RequestBody = Buffer | StoredBody;

/** A stored upload, which can be read repeatedly from any offset. */
export interface StoredUpload {
  readonly sizeBytes: number;
  read(start?: number, end?: number): AsyncIterable<Buffer>;
}

/** Properties of a request that determine its cost, in addition to the size of its text. Plain values. */
export interface Demand {
  /** Estimated input tokens of images, files and stored items that the request references. */
  readonly addressedTokens: number;
  /** Expected uses of provider tools, whose results are input. */
  readonly serverToolUses: number;
  /** Input length in tokens above which the provider summarizes it; `null`: not requested. */
  readonly compactsAboveTokens: number | null;
  /** Whether the input may be written to the provider's cache, which may cost more than reading it. */
  readonly writesCache: boolean;
  /** Inputs that are processed separately, each up to the model's context: texts to embed, documents to rank. */
  readonly inputs: number;
  /** Expected and maximum search units. */
  readonly searchUnits: number;
  readonly searchUnitsMax: number;
  /** The greatest output limit in the request, per choice. 0: the operation has no output. `null`: no limit. */
  readonly outputTokensLimit: number | null;
  /** Thinking budgets that are added to the output limit, per choice. */
  readonly thinkingTokens: number;
  /** Output that no limit covers, per choice: a rejected prediction, or thinking without a limit. */
  readonly moreOutputTokens: number;
  readonly outputTokensDefault: number;
  /** Stored state that the call continues: an earlier response, or state of unknown size. */
  readonly continues: 'nothing' | 'response' | 'unknown';
  readonly innerModels: readonly InnerModel[];
  readonly terms: ServiceTerms;
  /** The members that send audio and that request audio. */
  readonly audioInput: string | null;
  readonly audioOutput: string | null;
}

/** A model named within a request, and the path of the member that names it. */
export interface InnerModel {
  readonly name: string;
  readonly param: string;
}

/** Assumed output tokens of a call if neither the request nor the model sets a limit. */
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

/** Maximum output tokens that a request allows for all choices together; infinite without a limit. */
export function outputTokensMax({ outputTokensLimit, thinkingTokens, moreOutputTokens }: Demand, choices = 1): number {
  if (outputTokensLimit === null) return Number.POSITIVE_INFINITY;
  return (outputTokensLimit + thinkingTokens + moreOutputTokens) * choices;
}

/** What the gateway knows about the request of a call. */
export interface CallInput {
  /** `null`: the model of the earlier call that this one continues. */
  readonly model: string | null;
  /** Continuation keys of the earlier calls that this one refers to, most specific first. */
  readonly continuationKeys: readonly string[];
  /** Keys of the signed blocks in the request, newest first. Searches the messages, so it is called only if there are several possible providers. */
  signedKeys(): readonly string[];
  /** The member of a non-streaming response that may contain signed blocks. `null`: neither responses nor streams are searched. */
  readonly signedMember: string | null;
  /** Provider state that the request refers to. It must belong to the account. */
  readonly references: readonly StateReference[];
  /** Unknown tools and tool members, which the provider's configuration must allow. */
  readonly unlisted: readonly UnlistedPart[];
  /** The session of the call, or `null`. May read the conversation, so it is called only if there are several possible routes. */
  session(headers: IncomingHttpHeaders): Session | null;
  readonly isStream: boolean;
  /** Size of the decoded request. */
  readonly sizeBytes: number;
  /** Input tokens estimated by size, for the reservation and for streams that end without usage. */
  readonly inputTokensEstimate: number;
  readonly demand: Demand;
  /** Number of choices requested. Each may use the model's full output. */
  readonly choices: number;
  readonly contentType: string;
  /** @throws GatewayError `invalidRequest` with the field that is wrong. */
  checkFor(modelId: string): void;
  /** Builds the provider's request: unchanged except for the model name and the option to report usage. */
  toProvider(providerModel: string): RequestBody;
  readonly response: ResponseReading;
  /** Reads the stream. `restate` transforms its usage first. */
  readStream(basis: ChargeBasis, restate?: RestateUsage): StreamReading;
}
