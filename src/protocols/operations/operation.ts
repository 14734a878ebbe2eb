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

/**
 * What differs between one kind of call and another. The endpoint table says where it is served; `calls` does what is
 * the same for all.
 */
export interface Operation<Name extends string = string> {
  /** Its name in the configuration, the records and the admin API. */
  readonly name: Name;
  /** The wire family of its addresses, and of the providers that take it. */
  readonly protocol: KnownProtocol;
  /** Appended to a provider's base address. */
  readonly upstreamPath: string;
  /** Renders an error inside a stream of this operation. */
  readonly streamError: RenderStreamError;
  /**
   * Whether the connection is cut behind an error inside a stream: if the protocol has no such event, clients that do not know
   * ours would take a body that ends as usual for a complete response.
   */
  readonly cutsBrokenStreams?: boolean | undefined;
  /** The headers that tell clients of this operation what they have used of their plan; absent where they read none. */
  readonly planHeaders?: PlanHeaders | undefined;
  /** What its calls can be charged by, from the default on; the last option whose prices a model has decides. */
  readonly charge: readonly [ChargeOption, ...ChargeOption[]];
  /** The prices of tools whose uses its responses may report. Absent: none. */
  readonly toolPrices?: readonly OnePriceKey[];
  /** How the public catalog names it; `null`: it is not listed there (contract 2.5). */
  readonly catalogEntry: CatalogEntry | null;
  /** The form by which input is counted if a stream ended without usage facts; `null`: by its size. */
  readonly countedAs: BodyKind | null;
  /** Whether its responses are awaited after a client abort: only the whole response shows what they cost. */
  readonly isAlwaysAwaited: boolean;
}

/** Names in the public catalog, without the prefix of the protocol. */
interface CatalogEntry {
  /** Of the interface that the operation belongs to. */
  readonly interfaceId: string;
  readonly operationId: string;
}

/** An operation whose request is one JSON object. */
export interface JsonOperation<Name extends string = string> extends Operation<Name> {
  /** What `read` does with a body: only goes over its bytes, or makes values of what is in it, which takes far longer. */
  readonly reading: 'scans' | 'parses';
  /**
   * Reads what the gateway needs of a body, as plain values: a large body is read in another thread.
   *
   * @param limits of the scan; those of `scanJson` if they are absent
   * @throws GatewayError `invalidRequest` with the field to blame, JsonStepsError if the scan takes longer than it may.
   */
  read(body: Buffer, limits?: JsonScanLimits): RequestFacts;
  /** The input of a call with this body, of which `read` returned these facts. */
  toInput(facts: RequestFacts, body: Buffer): CallInput;
}

/** What an operation reads of a JSON body: plain values, which can be copied from one thread to another. */
export interface RequestFacts<Details = unknown> {
  /** `null`: the model of the earlier call that this one continues. */
  readonly model: string | null;
  /** Where the provider's name of the model goes. */
  readonly modelPlace: ModelPlace;
  /** What else than the model has to differ for the provider. */
  readonly splices: readonly Splice[];
  readonly continuationKeys: readonly string[];
  readonly references: readonly StateReference[];
  readonly unlisted: readonly UnlistedPart[];
  /** `null`: calls of this operation have no sessions. */
  readonly session: BodySession | null;
  /** Where the member `messages` begins, in which signed blocks are; -1 without it. */
  readonly messagesAt: number;
  readonly isStream: boolean;
  readonly inputTokensEstimate: number;
  readonly choices: number;
  readonly demand: Demand;
  /** What only this operation reads. */
  readonly details: Details;
}

/** Bytes `[start, end)` give way to `before`, the provider's name of the model as JSON, and `after`. */
export interface ModelPlace {
  readonly start: number;
  readonly end: number;
  readonly before: string;
  readonly after: string;
  /** Whether the client's own name of the model stands there. */
  readonly isNamed: boolean;
}

/** A replacement of `bytes[start, end)`; an insertion if both are equal. */
export interface Splice {
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

/** An operation whose request is too large for memory: it is stored as it comes, and read while it is. */
export interface UploadOperation<Name extends string = string> extends Operation<Name> {
  /**
   * Begins to read an upload. `digest` is given its content, not its encoding, so that two encodings of one upload have
   * one digest.
   *
   * @throws GatewayError `unsupportedMediaType` where the content type is not what the address takes.
   */
  receive(contentType: string | undefined, digest?: Digest | null): UploadReader;
}

/** Takes in the content of a request, in order. */
export interface Digest {
  add(bytes: Buffer | string): unknown;
}

export interface UploadReader {
  /**
   * Takes the next bytes in, in order.
   *
   * @throws GatewayError `invalidRequest` as soon as they can no longer become valid.
   */
  push(chunk: Buffer): void;
  /**
   * The upload is complete and stored: what the gateway needs of it.
   *
   * @throws GatewayError `invalidRequest` with the part to blame.
   */
  finish(stored: StoredUpload): CallInput;
}

/** A body that is too large for memory: read anew for each request that sends it. */
export interface StoredBody {
  readonly sizeBytes: number;
  read(): AsyncIterable<Buffer>;
}

/** The body of a request to a provider. */
export type RequestBody = Buffer | StoredBody;

/** The bytes of an upload, which can be read again from any place. */
export interface StoredUpload {
  readonly sizeBytes: number;
  read(start?: number, end?: number): AsyncIterable<Buffer>;
}

/** What a request asks for that decides its cost, beside the size of its text. Plain values. */
export interface Demand {
  /** Pictures, files and stored items that the request names by an address or an id, as input tokens. */
  readonly addressedTokens: number;
  /** Uses of tools that the provider runs, whose results are input. */
  readonly serverToolUses: number;
  /** The length of the input above which the provider is asked to summarize it; `null`: it is not asked. */
  readonly compactsAboveTokens: number | null;
  /** Whether the input may be written to the provider's cache, which may cost more than to read it. */
  readonly writesCache: boolean;
  /** Inputs that are read apart from each other, each up to the model's context: texts to embed, documents to rank. */
  readonly inputs: number;
  /** Units of search, and the most that a provider can make of the request. */
  readonly searchUnits: number;
  readonly searchUnitsMax: number;
  /** The greatest limit of the output that is stated, for each choice; 0: the operation writes nothing. */
  readonly outputTokensLimit: number | null;
  /** Budgets for thinking that come on top, for each choice. */
  readonly thinkingTokens: number;
  /** Output that no limit covers, for each choice: a prediction that may fail, thinking without a limit. */
  readonly moreOutputTokens: number;
  /** Output tokens that are assumed if neither the caller nor the model states a limit. */
  readonly outputTokensDefault: number;
  /** The state at its provider that the call continues: an earlier response, or something whose size is not known. */
  readonly continues: 'nothing' | 'response' | 'unknown';
  /** Models that the request names beside its own. */
  readonly innerModels: readonly InnerModel[];
  /** The terms of service that it asks for. */
  readonly terms: ServiceTerms;
  /** The members by which it sends audio, and asks for audio. */
  readonly audioInput: string | null;
  readonly audioOutput: string | null;
}

/** A model that is named inside a request, and by which member. */
export interface InnerModel {
  readonly name: string;
  readonly param: string;
}

/** What is assumed of a call's output if neither the caller nor the model states a limit. */
export const OUTPUT_TOKENS_DEFAULT = 4_096;

/** Of a request that asks for nothing in particular. */
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

/** The most output that a request allows, all choices together; infinite if it states no limit. */
export function outputTokensMax({ outputTokensLimit, thinkingTokens, moreOutputTokens }: Demand, choices = 1): number {
  if (outputTokensLimit === null) return Number.POSITIVE_INFINITY;
  return (outputTokensLimit + thinkingTokens + moreOutputTokens) * choices;
}

/** The few things that the gateway knows of a call's request. */
export interface CallInput {
  /** `null`: the model of the earlier call that this one continues. */
  readonly model: string | null;
  /** Continuation keys of the earlier calls that this one refers to, the most specific first. */
  readonly continuationKeys: readonly string[];
  /**
   * Keys of the signed blocks that this call brings along, the newest first. Searches its messages: only asked for if there is a
   * choice of makers.
   */
  signedKeys(): readonly string[];
  /** The member of a whole response that may have signed blocks, as events of a stream may; `null`: they are not looked for. */
  readonly signedMember: string | null;
  /** State at a provider that this call refers to; it has to belong to the account. */
  readonly references: readonly StateReference[];
  /** What the gateway does not know of its tools; the provider has to allow it. */
  readonly unlisted: readonly UnlistedPart[];
  /** The session of the call; `null` if it has none. It may read the conversation, so it is asked for only if there is a choice of routes. */
  session(headers: IncomingHttpHeaders): Session | null;
  readonly isStream: boolean;
  /** The size of the request, decoded. */
  readonly sizeBytes: number;
  /** Input tokens by size, for the reservation and for a stream that ends without usage facts. */
  readonly inputTokensEstimate: number;
  /** What else the call may cost. */
  readonly demand: Demand;
  /** The number of choices that the caller wants; each may use the model's whole output. */
  readonly choices: number;
  /** The content type of the request to the provider. */
  readonly contentType: string;
  /**
   * Checks what depends on the model.
   *
   * @throws GatewayError `invalidRequest` with the field to blame.
   */
  checkFor(modelId: string): void;
  /**
   * The request for the provider: the same bytes, but for the provider's name of the model and the request for usage.
   */
  toProvider(providerModel: string): RequestBody;
  /** Reads the call's whole response. */
  readonly response: ResponseReading;
  /** Reads the call's stream; `restate`: its usage is restated before it is read. */
  readStream(basis: ChargeBasis, restate?: RestateUsage): StreamReading;
}
