import { JsonCapture, type JsonCaptureOptions } from '../../lib/json/json-capture.ts';
import type { MarkedMember } from '../../lib/json/json-captured-members.ts';
import type { HoldingRules } from '../../lib/json/json-holdings.ts';
import { JsonSyntaxError } from '../../lib/json/json-scan.ts';
import type { ChargeBasis, MediaTokens, Usage } from './usage-facts.ts';
import type { WrittenRules } from './written-paths.ts';

/** What was kept of a whole response while it was relayed: see `JsonCapture`. */
export interface ReadResponse {
  /** A member of the outermost object as a value; `undefined` if it is absent. */
  member(name: string): unknown;
  /** Whether the member has a mark that the reading looks for. */
  isMarked(name: string): boolean;
  /** How many items an array member has; `null` if there is no such array. */
  count(name: string): number | null;
  /** How many items hold something of a group that the reading looks for. */
  holding(group: string): number;
}

/** What the whole responses of one kind of call mean. */
export interface ResponseReading {
  /** Members of the outermost object that have to be kept. They are small, or the response as a whole is. */
  readonly keep: readonly string[];
  /** A member that is kept if it has a mark, unless it is large: what it shows does not decide if the response can be charged. Absent: none. */
  readonly keepMarked?: MarkedMember;
  /** Array members whose items have to be counted; they may be as large as they like. */
  readonly count: readonly string[];
  /** What is looked for in the response and its items, however large they are. Absent: nothing. */
  readonly holding?: HoldingRules;
  /** The usage facts; `null` if the response is not of this kind, or lacks what it is charged by. */
  usage(response: ReadResponse, basis: ChargeBasis): Usage | null;
  /** Keys of what a later call may refer to; that call has to go to the same provider. */
  continuationKeys(response: ReadResponse): readonly string[];
  /** Where the model writes in the response. Absent: its output is no text. */
  readonly written?: WrittenRules;
  /** Whether the response has what was asked for and is no output of a model, such as embeddings. Absent: no. */
  hasResults?(response: ReadResponse): boolean;
  /** How a success is estimated without usage that can be true; absent: it is never charged. */
  readonly estimate?: ResponseEstimate;
}

/** The tokens of a call by their estimate. */
interface EstimatedTokens {
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly audioOutputTokens: number;
  readonly imageOutputTokens: number;
  readonly searchUnits: number;
}

/** How a success is estimated whose provider reports no usage that can be true. */
export interface ResponseEstimate {
  /** What has to be kept and counted of the response, beside what the reading itself needs. */
  readonly keep: readonly string[];
  readonly count: readonly string[];
  /** Whether the response is a success of this kind. */
  isSuccess(response: ReadResponse): boolean;
  /** The output that is no text, without pictures that stand in the text. Absent: there is none. */
  mediaTokens?(response: ReadResponse): MediaTokens;
  /** The members by which a provider would report these tokens. */
  members(tokens: EstimatedTokens): Readonly<Record<string, unknown>>;
}

/** The reading of responses that nothing can refer to later. */
export function responseReading(
  keep: readonly string[],
  usage: (response: ReadResponse, basis: ChargeBasis) => Usage | null,
): ResponseReading {
  return { keep, count: [], usage, continuationKeys: () => [] };
}

/** The members of a response, or of the data of an event, that is there as a whole; `null`: it is no JSON object. */
export function captureWhole(bytes: Buffer, options: JsonCaptureOptions): ReadResponse | null {
  const capture = new JsonCapture(options);
  try {
    capture.push(bytes);
    capture.end();
  } catch (error) {
    if (error instanceof JsonSyntaxError) return null;
    throw error;
  }
  return capture.rootKind === 'object' ? capture : null;
}
